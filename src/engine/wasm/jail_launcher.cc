#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "engine/wasm/launcher.h"
#include "jail/spawn_process.h"

namespace caisson {
namespace {

class JailedWorker final : public WorkerHandle {
 public:
  explicit JailedWorker(jail::Child child) : child_(std::move(child)) {}

  const UniqueFd& ended() const override { return child_.pidfd(); }
  void Kill() override { child_.Kill(); }
  WorkerExit Reap() override {
    auto exit = child_.Wait();
    if (!exit) return {};
    return {
        .status = exit->status, .signal = exit->signal, .denied_syscall = exit->DeniedSyscall()};
  }

 private:
  jail::Child child_;
};

class JailLauncher final : public Launcher {
 public:
  JailLauncher(JailLauncherOptions options, UniqueFd program, UniqueFd base)
      : options_(std::move(options)), program_(std::move(program)), base_(std::move(base)) {}

  Result<std::unique_ptr<WorkerHandle>> Launch(const LaunchSpec& spec) override {
    std::vector<std::string> argv{"caisson-worker",
                                  "--tier=" + std::string(jail::ToString(options_.tier))};
    argv.insert(argv.end(), options_.arguments.begin(), options_.arguments.end());
    TRY_ASSIGN(jail::Child child, jail::Spawn({
                                      .tier = options_.tier,
                                      .program = &program_,
                                      .argv = std::move(argv),
                                      .descriptors = {&base_, &spec.channel, &spec.notify},
                                      .log = &spec.log,
                                      .cpu = spec.cpu,
                                  }));
    return std::unique_ptr<WorkerHandle>(std::make_unique<JailedWorker>(std::move(child)));
  }

 private:
  const JailLauncherOptions options_;
  const UniqueFd program_;
  const UniqueFd base_;
};

Result<UniqueFd> OpenForReading(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return Error::FromErrno(errno, "open " + path);
  return fd;
}

}  // namespace

Result<std::unique_ptr<Launcher>> MakeJailLauncher(JailLauncherOptions options) {
  TRY_ASSIGN(UniqueFd program, OpenForReading(options.worker_path));
  TRY_ASSIGN(UniqueFd base, OpenForReading(options.base_path));
  return std::unique_ptr<Launcher>(
      std::make_unique<JailLauncher>(std::move(options), std::move(program), std::move(base)));
}

}  // namespace caisson
