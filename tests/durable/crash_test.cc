// A host, or its workers, are killed at every step of a run. Each effect that the tools saw
// happened at most once (I6).
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
#include <sstream>

#include "tests/store/backend.h"
#include "wire/json.h"

namespace caisson {
namespace {

struct Window {
  // "start": before the run waits; "go": after the approval. For workers: "parked" or "asleep", how
  // it waits.
  const char* phase;
  const char* step;
  const char* doubted = "";  // The text of the call that was under way, if any.
  // The call may only be about to begin: then it is uncertain only if its run was seen to end
  // before it began.
  bool perhaps = false;
};

class CrashTest : public testing::TestWithParam<std::tuple<BackendKind, Window>> {
 protected:
  CrashTest() {
    std::string pattern = "/tmp/caisson-crash.XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~CrashTest() override { std::filesystem::remove_all(directory_); }

  struct Ended {
    int status = 0;
    std::string output;
  };
  Ended Run(std::string mode, std::string window) {
    const std::string output = directory_ / "output";
    std::string program = CAISSON_CRASH_HOST;
    std::string url = backend_->url();
    std::string keys = directory_ / "keys";
    std::string effects = directory_ / "effects";
    const std::array<char*, 7> argv = {program.data(), mode.data(),   url.data(), keys.data(),
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
  static bool WasKilled(const Ended& ended) {
    return WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL;
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

// Holds in every case: each effect at most once, and exactly once if the call is not uncertain.
void ExpectNothingTwice(const std::string& json, const std::map<std::string, int>& effects,
                        const Window& window) {
  const auto outcome = ParseJson(json);
  ASSERT_TRUE(outcome) << json;
  const auto& dict = *outcome->If<Dict>();
  EXPECT_EQ(*dict.Find("status"), Value("completed")) << json;
  std::map<std::string, std::string> calls;
  for (const Value& call : dict.Find("calls")->If<List>()->items) {
    const auto& fields = *call.If<Dict>();
    calls[*fields.Find("arguments")->If<Dict>()->Find("text")->If<std::string>()] =
        *fields.Find("outcome")->If<std::string>();
  }
  for (const char* text : {"first", "asked", "last"}) {
    const int times = effects.contains(text) ? effects.at(text) : 0;
    EXPECT_LE(times, 1) << text;
    const bool doubted = calls[text] == "uncertain" && text == std::string_view(window.doubted);
    if (!doubted) EXPECT_EQ(calls[text], "returned") << text << " in " << json;
    if (text == std::string_view(window.doubted)) EXPECT_TRUE(doubted || window.perhaps) << json;
    if (calls[text] == "returned") EXPECT_EQ(times, 1) << text;
  }
  // An idempotent tool may be called again, and in the end it was done.
  EXPECT_GE(effects.contains("put") ? effects.at("put") : 0, 1);
  EXPECT_EQ(calls["put"], "returned");
  // No line of the code ran twice in the execution that counts.
  EXPECT_EQ(dict.Find("result")->If<List>()->items.back(), Value(std::int64_t{4})) << json;
}

TEST_P(CrashTest, NothingHappensTwice) {
  const Window window = std::get<1>(GetParam());
  const bool early = std::string_view(window.phase) == "start";
  ASSERT_TRUE(WasKilled(Run("start", early ? window.step : "never:0")));
  if (!early) ASSERT_TRUE(WasKilled(Run("go", window.step))) << "it never came to " << window.step;
  const Ended ended = Run("go", "never:0");
  ASSERT_EQ(ended.status, 0) << ended.output;
  ExpectNothingTwice(ended.output, Effects(), window);
}

class EditTest : public CrashTest {};

// I5: the edited arguments are executed, at most once, and never those that were asked about.
TEST_P(EditTest, OnlyTheEditHappensAndNotTwice) {
  const Window window = std::get<1>(GetParam());
  ASSERT_TRUE(WasKilled(Run("start", "never:0")));
  ASSERT_TRUE(WasKilled(Run("edit", window.step))) << "it never came to " << window.step;
  const Ended ended = Run("edit", "never:0");
  ASSERT_EQ(ended.status, 0) << ended.output;
  auto effects = Effects();
  EXPECT_EQ(effects["asked"], 0);
  EXPECT_EQ(effects["first"], 1);
  EXPECT_EQ(effects["last"], 1);
  const bool doubted = window.doubted == std::string_view("asked");
  EXPECT_LE(effects["edited"], 1);
  if (!doubted) EXPECT_EQ(effects["edited"], 1);
}

constexpr Window kEditWindows[] = {
    {"edit", "StartCall:before:1"},
    {"edit", "StartCall:after:1", "asked"},
    {"edit", "effect:after:1", "asked"},
    {"edit", "FinishCall:after:1"},
};

class NapTest : public CrashTest {};

// Killed when it has just begun to sleep, or before the store knows. In both cases it sleeps as
// long as requested, once.
TEST_P(NapTest, WakesWhenItSaid) {
  const Window window = std::get<1>(GetParam());
  ASSERT_TRUE(WasKilled(Run("nap", window.step)));
  const Ended ended = Run("go", "never:0");
  ASSERT_EQ(ended.status, 0) << ended.output;
  const auto outcome = ParseJson(ended.output);
  ASSERT_TRUE(outcome) << ended.output;
  const Value* result = outcome->If<Dict>()->Find("result");
  ASSERT_TRUE(result != nullptr && result->If<List>() != nullptr) << ended.output;
  const auto& times = result->If<List>()->items;
  const double slept = *times.at(1).If<double>() - *times.at(0).If<double>();
  EXPECT_GE(slept, 3.999);
  // The dead host's lease ends after 1 s: sleeping the full time again would take more than 5.
  if (window.phase == std::string_view("slept")) EXPECT_LT(slept, 4.9);
  EXPECT_THAT(Effects(),
              testing::UnorderedElementsAre(testing::Pair("first", 1), testing::Pair("last", 1)));
}

constexpr Window kNapWindows[] = {
    {"slept", "Wait:after:1"},
    {"unknown", "Wait:before:1"},
    {"slept", "BeginCall:before:2"},
};

using LostWorkersTest = CrashTest;

// The host that lost them continues the run by itself.
TEST_P(LostWorkersTest, NothingHappensTwice) {
  const Window window = std::get<1>(GetParam());
  const Ended ended = Run(window.phase, window.step);
  ASSERT_EQ(ended.status, 0) << ended.output;
  ExpectNothingTwice(ended.output, Effects(), window);
}

constexpr Window kWindows[] = {
    {"start", "Create:after:1"},
    {"start", "BeginCall:before:1"},
    {"start", "BeginCall:after:1", "first"},
    {"start", "effect:before:1", "first"},
    {"start", "effect:after:1", "first"},
    {"start", "FinishCall:before:1", "first"},
    {"start", "FinishCall:after:1"},
    {"start", "BeginCall:before:2"},
    {"start", "BeginCall:after:2"},
    {"start", "Wait:before:1"},
    {"start", "Wait:after:1"},
    {"go", "Claim:before:1"},
    {"go", "Claim:after:1"},
    {"go", "DoubtStartedCalls:after:1"},
    {"go", "StartCall:before:1"},
    {"go", "StartCall:after:1", "asked"},
    {"go", "effect:before:1", "asked"},
    {"go", "effect:after:1", "asked"},
    {"go", "FinishCall:before:1", "asked"},
    {"go", "FinishCall:after:1"},
    {"go", "effect:after:2"},
    {"go", "BeginCall:after:2", "last"},
    {"go", "Finish:before:1"},
};

// A finished call is certain: only one that is open when its run ends is uncertain.
constexpr Window kWorkerWindows[] = {
    {"parked", "Create:after:1"},
    {"parked", "BeginCall:before:1", "first", true},
    {"parked", "BeginCall:after:1", "first", true},
    {"parked", "effect:before:1"},
    {"parked", "effect:during:1", "first"},
    {"parked", "effect:after:1"},
    {"parked", "FinishCall:before:1"},
    {"parked", "FinishCall:after:1"},
    {"parked", "BeginCall:before:2"},
    {"parked", "BeginCall:after:2"},
    {"parked", "save:before:1"},
    {"parked", "save:after:1"},
    {"parked", "Wait:before:1"},
    {"parked", "Wait:after:1"},
    {"parked", "StartCall:before:1", "asked", true},
    {"parked", "StartCall:after:1", "asked", true},
    {"parked", "effect:during:2", "asked"},
    {"parked", "FinishCall:before:2"},
    {"parked", "FinishCall:after:2"},
    {"parked", "effect:during:3"},
    {"parked", "effect:during:4", "last"},
    {"parked", "Finish:before:1"},
    {"asleep", "Wait:after:1"},
    {"asleep", "Claim:before:1"},
    {"asleep", "Claim:after:1"},
    {"asleep", "LoadSaved:after:1"},
    {"asleep", "restore:during:1"},
    {"asleep", "restore:after:1"},
    {"asleep", "StartCall:before:1", "asked", true},
    {"asleep", "StartCall:after:1", "asked", true},
    {"asleep", "effect:before:2"},
    {"asleep", "effect:during:2", "asked"},
    {"asleep", "effect:after:2"},
    {"asleep", "FinishCall:before:2"},
    {"asleep", "FinishCall:after:2"},
    {"asleep", "effect:during:4", "last"},
};

const auto kDurable = testing::Values(BackendKind::kSqlite, BackendKind::kPostgres);

std::string NameOf(const testing::TestParamInfo<std::tuple<BackendKind, Window>>& info) {
  const Window window = std::get<1>(info.param);
  std::string name = ToString(std::get<0>(info.param)) + "_" + window.phase + "_" + window.step;
  std::ranges::replace(name, ':', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Killed, CrashTest, testing::Combine(kDurable, testing::ValuesIn(kWindows)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Killed, EditTest,
                         testing::Combine(kDurable, testing::ValuesIn(kEditWindows)), NameOf);
INSTANTIATE_TEST_SUITE_P(Killed, NapTest,
                         testing::Combine(kDurable, testing::ValuesIn(kNapWindows)), NameOf);
INSTANTIATE_TEST_SUITE_P(Killed, LostWorkersTest,
                         testing::Combine(kDurable, testing::ValuesIn(kWorkerWindows)), NameOf);

}  // namespace
}  // namespace caisson
