#include "engine/native/forkserver/rehearsal.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/unique_fd.h"
#include "wire/frames.h"
#include "wire/value.h"

namespace caisson::forkserver {
namespace {

constexpr std::uint64_t kResultBytes = 4096;

// As the host would send it.
std::string StartFrame() {
  const auto text = [](const char* bytes) { return Value(std::string(bytes)); };
  Dict request{{{text("code"), Value(Bytes{"print(end='')\n1+1"})},
                {text("result_bytes"), Value(static_cast<std::int64_t>(kResultBytes))},
                {text("keep"), Value(false)}}};
  std::string encoded;
  static_cast<void>(EncodeValue(std::move(request), encoded));  // Fails only on deep nesting.
  wire::StartHeader start{};
  start.result_bytes = kResultBytes;
  start.request_length = static_cast<std::uint32_t>(encoded.size());
  const wire::StreamFrame frame{.length = static_cast<std::uint32_t>(sizeof start + encoded.size()),
                                .kind = static_cast<std::uint16_t>(wire::ToWorker::kStart),
                                .flags = 0};
  std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
  bytes.append(reinterpret_cast<const char*>(&start), sizeof start);
  return bytes.append(encoded);
}

}  // namespace

Result<void> Rehearse(Holder& holder) {
  static const std::string frame = StartFrame();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromErrno(errno, "socket for a rehearsal");
  }
  const UniqueFd host(ends[0]);
  const UniqueFd cell(ends[1]);
  if (::write(host.get(), frame.data(), frame.size()) != static_cast<ssize_t>(frame.size())) {
    return Error::FromErrno(errno, "begin a rehearsal");
  }
  SetHolder(holder);
  holder.Connect(cell.get());
  static_cast<void>(holder.AwaitOrder());  // The order is to run.
  holder.AwaitStart();
  // The report stays in the socket and is dropped with it.
  if (!holder.Run()) return Error(ErrorCode::kInternal, "the rehearsal sent no report");
  holder.Connect(-1);
  return {};
}

}  // namespace caisson::forkserver
