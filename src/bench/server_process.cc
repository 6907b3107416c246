#include "bench/server_process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "caller/caller_context.h"
#include "caller/child_environment.h"

namespace caisson::bench {
namespace {

// Waits in read() and write() like an ordinary client.
Result<void> MakeBlocking(const UniqueFd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags >= 0 && ::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) == 0) return {};
  return Error::FromErrno(errno, "prepare a pipe to the server");
}

}  // namespace

Result<ServerProcess> ServerProcess::Start(const ServerPlan& plan, std::vector<std::string> command,
                                           const std::string& home) {
  std::vector<std::string> argv{plan.program};
  argv.insert(argv.end(), command.begin(), command.end());
  argv.insert(argv.end(), {"--tier", plan.tier});
  if (!plan.installation.empty()) argv.insert(argv.end(), {"--worker-dir", plan.installation});
  CallerHost host(CaptureEnvironment());
  TRY_ASSIGN(
      auto environment,
      ChildEnvironment::Build(CallerContext(host), {.inherit = {"PATH"}, .own = {{"HOME", home}}}));
  TRY_ASSIGN(jail::Program program, jail::Program::Start({.argv = std::move(argv),
                                                          .input_from = jail::InputFrom::kPipe,
                                                          .environment = std::move(environment)}));
  TRY(MakeBlocking(program.input()));
  TRY(MakeBlocking(program.output()));
  return ServerProcess(std::move(program));
}

Result<void> ServerProcess::Write(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(program_.input().get(), rest.data(), rest.size());
    if (written <= 0) return Error::FromErrno(errno, "write to the server");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> ServerProcess::ReadLine() {
  std::array<char, 16384> buffer;
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != unread_.npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const ssize_t size = ::read(program_.output().get(), buffer.data(), buffer.size());
    if (size <= 0) return Error(ErrorCode::kInternal, "the server has ended");
    unread_.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

Result<ScratchDirectory> ScratchDirectory::Make() {
  std::error_code failed;
  std::string path =
      (std::filesystem::temp_directory_path(failed) / "caisson-bench-XXXXXX").string();
  if (failed || ::mkdtemp(path.data()) == nullptr) {
    return Error::FromErrno(errno, "create a directory for a benchmark");
  }
  return ScratchDirectory(std::move(path));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace caisson::bench
