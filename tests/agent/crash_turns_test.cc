// A host is killed at every step of two turns. Another one finishes them, and each effect happened
// at most once (I6).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/store/backend.h"

namespace caisson {
namespace {

class CrashTurnsTest : public testing::TestWithParam<std::tuple<BackendKind, const char*>> {
 protected:
  CrashTurnsTest() {
    std::string pattern = "/tmp/caisson-crash.XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~CrashTurnsTest() override { std::filesystem::remove_all(directory_); }

  struct Ended {
    int status = 0;
    std::string output;
  };
  Ended Run(std::string window) {
    const std::string output = directory_ / "output";
    std::string program = CAISSON_CRASH_TURNS_HOST;
    std::string url = backend_->url();
    std::string keys = directory_ / "keys";
    std::string effects = directory_ / "effects";
    const std::array<char*, 6> argv = {program.data(), url.data(),    keys.data(),
                                       effects.data(), window.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), ::environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    Ended ended;
    EXPECT_EQ(::waitpid(pid, &ended.status, 0), pid);
    std::ifstream file(output);
    ended.output.assign(std::istreambuf_iterator<char>(file), {});
    return ended;
  }
  std::map<std::string, int> Effects() {
    std::map<std::string, int> effects;
    std::ifstream file(directory_ / "effects");
    for (std::string line; std::getline(file, line);) ++effects[line];
    return effects;
  }

  const std::unique_ptr<Backend> backend_ = MakeBackend(std::get<0>(GetParam()));
  std::filesystem::path directory_;
};

TEST_P(CrashTurnsTest, TheTurnsFinishAndNothingHappensTwice) {
  const Ended killed = Run(std::get<1>(GetParam()));
  ASSERT_TRUE(WIFSIGNALED(killed.status) && WTERMSIG(killed.status) == SIGKILL)
      << "it never came to " << std::get<1>(GetParam()) << ": " << killed.output;
  const Ended ended = Run("never:0");
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(ended.output.starts_with("completed")) << ended.output;
  const auto effects = Effects();
  for (const char* text : {"first", "asked", "after", "last"}) {
    const int times = effects.contains(text) ? effects.at(text) : 0;
    EXPECT_LE(times, 1) << text;
    // The effect that was under way may not have happened; then its code was told. A decided run
    // goes on beside its turn, so it may be in an effect in any window of the second turn.
    const std::string_view window = std::get<1>(GetParam());
    const bool was_in_effect =
        window.starts_with("effect") || window.find("Call") != std::string_view::npos;
    const bool was_told = ended.output.find("UncertainError") != std::string::npos;
    if (!was_in_effect && !was_told) EXPECT_EQ(times, 1) << text << " in " << ended.output;
  }
}

constexpr const char* kWindows[] = {
    "turn.Begin:before:1", "turn.Begin:after:1",    "model:asked:1",        "turn.Append:before:1",
    "turn.Append:after:1", "turn.Replace:before:1", "turn.Replace:after:1", "Create:before:1",
    "Create:after:1",      "Create:after:2",        "BeginCall:after:1",    "effect:before:1",
    "effect:after:1",      "FinishCall:after:1",    "Wait:before:1",        "Wait:after:1",
    "Finish:before:1",     "Finish:after:1",        "turn.End:before:1",    "turn.End:after:1",
    "turn.Begin:before:2", "turn.Begin:after:2",    "StartCall:before:1",   "StartCall:after:1",
    "effect:before:2",     "effect:after:2",        "effect:after:3",       "Finish:after:2",
    "model:asked:2",       "turn.Replace:before:2", "turn.Replace:after:2", "Create:after:3",
    "effect:after:4",      "Finish:after:3",        "model:asked:3",        "turn.End:before:2",
    "turn.End:after:2"};

std::string NameOf(const testing::TestParamInfo<std::tuple<BackendKind, const char*>>& info) {
  std::string name = ToString(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
  for (char& c : name) {
    if (c == ':' || c == '.') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Over, CrashTurnsTest,
                         testing::Combine(testing::Values(BackendKind::kSqlite,
                                                          BackendKind::kPostgres),
                                          testing::ValuesIn(kWindows)),
                         NameOf);

}  // namespace
}  // namespace caisson
