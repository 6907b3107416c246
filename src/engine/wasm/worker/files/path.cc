#include "engine/wasm/worker/files/path.h"

#include <algorithm>

#include "base/utf8.h"

namespace caisson::worker {

Errno CheckPath(std::string_view path) {
  if (path.empty()) return Errno::kNoent;
  if (path.size() > kMaxPathBytes) return Errno::kNametoolong;
  if (path.find('\0') != std::string_view::npos) return Errno::kInval;
  return IsUtf8(path) ? Errno::kSuccess : Errno::kIlseq;
}

bool IsEntryName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos &&
         IsUtf8(name);
}

std::string_view TakeComponent(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  const std::string_view component = rest.substr(0, rest.find('/'));
  rest.remove_prefix(component.size());
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  return component;
}

}  // namespace caisson::worker
