#include "engine/native/fork_server_launcher.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "jail/spawn_process.h"

namespace caisson {
namespace {

class JailedForkServer final : public ForkServerHandle {
 public:
  explicit JailedForkServer(jail::Child child) : child_(std::move(child)) {}

  const UniqueFd& ended() const override { return child_.pidfd(); }
  void Kill() override { child_.Kill(); }
  bool stopped() const override { return child_.IsStopped(); }
  ForkServerExit Reap() override {
    auto exit = child_.Wait();
    if (!exit) return {};
    return {.status = exit->status, .signal = exit->signal};
  }

 private:
  jail::Child child_;
};

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

class JailForkServerLauncher final : public ForkServerLauncher {
 public:
  JailForkServerLauncher(UniqueFd program, jail::Tier tier, std::string scratch)
      : program_(std::move(program)), tier_(tier), scratch_(std::move(scratch)) {}

  Result<std::unique_ptr<ForkServerHandle>> Launch(const ForkServerSpec& spec) override {
    std::vector<std::string> argv{"caisson-forkserver",
                                  "--tier=" + std::string(jail::ToString(tier_))};
    if (!spec.kind.preload.empty()) argv.push_back("--preload=" + Joined(spec.kind.preload));
    if (!spec.kind.prefix.empty()) argv.push_back("--prefix=" + spec.kind.prefix);
    if (spec.kind.is_foreign) argv.emplace_back("--foreign");
    if (!scratch_.empty()) argv.push_back("--scratch=" + scratch_);
    TRY_ASSIGN(jail::Child child, jail::Spawn({.tier = tier_,
                                               .program = &program_,
                                               .argv = std::move(argv),
                                               .descriptors = {&spec.control},
                                               .log = &spec.log,
                                               .cpu = spec.cpu}));
    return std::unique_ptr<ForkServerHandle>(std::make_unique<JailedForkServer>(std::move(child)));
  }

 private:
  const UniqueFd program_;
  const jail::Tier tier_;
  const std::string scratch_;
};

}  // namespace

Result<std::unique_ptr<ForkServerLauncher>> MakeForkServerLauncher(
    const std::string& fork_server_path, jail::Tier tier, const std::string& scratch) {
  UniqueFd program(::open(fork_server_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program.is_open()) return Error::FromErrno(errno, "open " + fork_server_path);
  return std::unique_ptr<ForkServerLauncher>(
      std::make_unique<JailForkServerLauncher>(std::move(program), tier, scratch));
}

}  // namespace caisson
