// caisson-worker: started by the host with three descriptors (wire/frames.h). It enters its jail,
// then runs cells until it is killed. Everything that needs the outside happens before Enter().
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/wasm/worker/build_id.h"
#include "engine/wasm/worker/worker.h"
#include "jail/enter.h"

namespace caisson::worker {
namespace {

struct Arguments {
  jail::Tier tier = jail::Tier::kNamespace;
  WorkerOptions options;
};

Result<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--tier=")) {
      TRY_ASSIGN(arguments.tier, jail::ParseTier(argument.substr(7)));
    } else if (argument == "--verify-reset") {
      arguments.options.verify_reset = true;
    } else {
      return Error(ErrorCode::kInvalidArgument, "unknown argument " + std::string(argument));
    }
  }
  return arguments;
}

void SendReady(HostChannel& channel, const BaseFile& base, const jail::Walls& walls) {
  std::string missing;
  for (const jail::Wall& wall : walls) {
    if (!wall.up) missing += wall.name + "\n";
  }
  wire::ReadyHeader ready{};
  std::memcpy(ready.build_id, BuildId().data(), sizeof ready.build_id);
  std::memcpy(ready.base_hash, base.header().hash, sizeof ready.base_hash);
  ready.base_bytes = static_cast<std::uint32_t>(base.memory_bytes());
  ready.missing_length = static_cast<std::uint32_t>(missing.size());
  channel.Send(wire::ToHost::kReady, 0, {reinterpret_cast<const char*>(&ready), sizeof ready},
               missing);
}

Result<void> Main(int argc, char** argv) {
  TRY_ASSIGN(const Arguments arguments, Parse(argc, argv));
  TRY_ASSIGN(const BaseFile base, BaseFile::Open(UniqueFd(wire::kBaseFd)));
  TRY_ASSIGN(const LibraryImage library, LibraryImage::Parse(base.library()));
  TRY_ASSIGN(DirtyPages dirty, DirtyPages::Open());
  TRY_ASSIGN(HostChannel channel,
             HostChannel::Open(UniqueFd(wire::kChannelFd), UniqueFd(wire::kNotifyFd)));
  TRY(SetUpWindow(&Worker::OnTick));
  Worker worker(base, library, dirty, channel, BuildId(), arguments.options);
  TRY(worker.Prepare());

  jail::EnterSpec spec;
  spec.tier = arguments.tier;
  spec.name = "caisson-worker";
  spec.syscalls = jail::WorkerSyscalls(
      {.pagemap = dirty.fd().get(), .writable = {STDERR_FILENO, channel.notify_fd().get()}});
  // Shows whether a run has made any page dirty (DirtyPages::Faults).
  spec.syscalls.push_back({.number = SYS_getrusage});
  TRY_ASSIGN(const jail::Walls walls, jail::Enter(spec));
  SendReady(channel, base, walls);
  worker.Run();
}

}  // namespace
}  // namespace caisson::worker

int main(int argc, char** argv) {
  auto result = caisson::worker::Main(argc, argv);
  // The host shows this to the requester of the run.
  std::fprintf(stderr, "caisson-worker: %s\n", result.error().message().c_str());
  return EXIT_FAILURE;
}
