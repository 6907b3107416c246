#include "engine/native/forkserver/input_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/unique_fd.h"
#include "wire/value.h"

namespace caisson::forkserver {
namespace {

Result<void> WriteOne(const std::string& path, const std::string& contents) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    if (::mkdir(path.substr(0, end).c_str(), 0755) != 0 && errno != EEXIST && errno != EROFS) {
      return Error::FromErrno(errno, "make a directory for " + path);
    }
  }
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
  if (!file.is_open()) return Error::FromErrno(errno, "make " + path);
  std::string_view rest = contents;
  while (!rest.empty()) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written <= 0) return Error::FromErrno(errno, "write " + path);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<void> WriteInputFiles(std::string_view encoded) {
  if (encoded.empty()) return {};
  const Error malformed(ErrorCode::kInvalidArgument, "the list of files is malformed");
  DecodeBudget budget(kAnyDecodedBytes);  // The host bounds its files.
  TRY_ASSIGN(const Value value, DecodeValue(encoded, budget));
  const auto* list = value.If<List>();
  if (list == nullptr) return malformed;
  for (const Value& item : list->items) {
    const auto* pair = item.If<Tuple>();
    if (pair != nullptr && pair->items.size() == 3) continue;  // A mount: it already exists.
    if (pair == nullptr || pair->items.size() != 2) return malformed;
    const auto* path = pair->items[0].If<std::string>();
    const auto* contents = pair->items[1].If<Bytes>();
    if (path == nullptr || contents == nullptr || !path->starts_with('/')) return malformed;
    TRY(WriteOne(*path, contents->data));
  }
  return {};
}

}  // namespace caisson::forkserver
