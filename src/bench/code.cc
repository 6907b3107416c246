#include "bench/code.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runs/cells/code_runner.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace caisson::bench {
namespace {

constexpr int kWarmUpRuns = 10;
constexpr const char* kHundredCalls = "for i in range(100):\n    r = echo(n=i)\nr";
constexpr const char* kThousandGathered =
    "import asyncio\nlen(await asyncio.gather(*[echo(n=i) for i in range(1000)]))";

Dict Object(std::initializer_list<std::pair<const char*, Value>> items) {
  Dict dict;
  for (const auto& [key, value] : items) dict.items.emplace_back(Value(std::string(key)), value);
  return dict;
}

// A function that returns its first argument, `n`, and also requires the others.
Result<std::shared_ptr<const Tool>> Echo(std::string name, std::span<const char* const> others) {
  const Dict integer = Object({{"type", Value(std::string("integer"))}});
  Dict properties = Object({{"n", integer}});
  List required;
  required.items.emplace_back(std::string("n"));
  for (const char* other : others) {
    properties.items.emplace_back(Value(std::string(other)), integer);
    required.items.emplace_back(std::string(other));
  }
  return Tool::Make({.name = std::move(name),
                     .description = "Gives back what it is given.",
                     .input_schema = Object({{"type", Value(std::string("object"))},
                                             {"properties", std::move(properties)},
                                             {"required", std::move(required)}})},
                    Inline([](const Dict& given) { return *given.Find("n"); }));
}

std::shared_ptr<const CodeSetting> SettingWith(std::vector<std::shared_ptr<const Tool>> tools) {
  return std::make_shared<const CodeSetting>(
      CodeSetting{.tools = std::make_shared<const ToolSet>(std::move(tools))});
}

// Eight lines of everyday code, repeated.
std::string TwoHundredLines() {
  std::string code;
  for (int i = 0; i < 25; ++i) {
    code += "def paid_" + std::to_string(i) + "(rows):\n";
    code += "    # Adds up what was paid.\n";
    code += "    total = 0.0\n";
    code += "    for row in rows:\n";
    code += "        if row.get('paid'):\n";
    code += "            total += float(row['amount'])\n";
    code += "    return round(total, 2)\n";
    code += "\n";
  }
  return code;
}

// A temporary directory with one small file.
class SmallDirectory {
 public:
  static Result<SmallDirectory> Make() {
    std::string path = (std::filesystem::temp_directory_path() / "caisson-bench-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return Error::FromErrno(errno, "make a directory");
    SmallDirectory made(std::move(path));
    std::ofstream(made.path_ + "/one") << "1";
    // In tier landlock, cells that root starts run as another user, who must be able to read it.
    if (::chmod(made.path_.c_str(), 0755) != 0) return Error::FromErrno(errno, "open a directory");
    return made;
  }
  SmallDirectory(SmallDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SmallDirectory& operator=(SmallDirectory&&) = delete;
  ~SmallDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit SmallDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

asio::awaitable<Result<Samples>> TimeCode(Engine& engine, CellRun request,
                                          std::optional<Value> result, CodePlan plan,
                                          CodeRunnerOptions options = {}) {
  CodeRunner runner(engine, std::move(options));
  asio::steady_timer pause(co_await asio::this_coro::executor);
  Result<Samples> samples{Samples()};
  for (int i = -kWarmUpRuns; i < plan.runs && samples; ++i) {
    // Varied, so that it does not align with kernel ticks, which some runs wait for.
    pause.expires_after(plan.pause + plan.pause * (i % 7) / 7);
    co_await pause.async_wait(asio::use_awaitable);
    const auto begin = Clock::now();
    const auto run = co_await runner.Run(request);
    const auto took = Clock::now() - begin;
    const Result<void> right =
        run ? Expect(run->outcome, result, "") : Result<void>(Error(run.error()));
    if (!right) {
      samples = Error(right.error());
    } else if (i >= 0) {
      samples->push_back(Microseconds(took));
    }
  }
  co_await runner.Close();
  co_return samples;
}

Result<Samples> TimeCalls(const Lanes& lanes, const char* code, std::int64_t result,
                          CodePlan plan) {
  TRY_ASSIGN(auto echo, Echo("echo", {}));
  return OnLane(
      lanes, 0,
      TimeCode(lanes.engine(),
               {.owner = OwnerId("bench"), .code = code, .setting = SettingWith({std::move(echo)})},
               Value(result), plan));
}

}  // namespace

Result<Samples> HundredCalls(const Lanes& lanes, CodePlan plan) {
  return TimeCalls(lanes, kHundredCalls, 99, plan);
}

Result<Samples> FiftyTools(const Lanes& lanes, CodePlan plan) {
  constexpr std::array kOthers = {"first", "second"};
  std::vector<std::shared_ptr<const Tool>> tools;
  for (int i = 0; i < 50; ++i) {
    TRY_ASSIGN(auto tool, Echo("echo_" + std::to_string(i), kOthers));
    tools.push_back(std::move(tool));
  }
  return OnLane(
      lanes, 0,
      TimeCode(lanes.engine(),
               {.owner = OwnerId("bench"), .code = "1+1", .setting = SettingWith(std::move(tools))},
               Value(2), plan));
}

Result<Samples> ThousandGathered(const Lanes& lanes, CodePlan plan) {
  return TimeCalls(lanes, kThousandGathered, 1000, plan);
}

Result<Samples> MountedRuns(const Lanes& lanes, MountMode mode, CodePlan plan) {
  TRY_ASSIGN(const SmallDirectory directory, SmallDirectory::Make());
  CodeSetting setting;
  setting.mounts = {{.host = directory.path(), .point = {.guest_path = "/input", .mode = mode}}};
  asio::thread_pool pool(2);
  return OnLane(lanes, 0,
                TimeCode(lanes.engine(),
                         {.owner = OwnerId("bench"),
                          .code = "int(open('/input/one').read()) + 1",
                          .setting = std::make_shared<const CodeSetting>(std::move(setting))},
                         Value(2), plan, {.pool = pool.get_executor()}));
}

Result<Samples> FourProcesses(const Lanes& lanes, CodePlan plan) {
  return OnLane(
      lanes, 0,
      TimeCode(lanes.engine(),
               {.owner = OwnerId("bench"), .code = "1+1", .limits = Limits{.processes = 4}},
               Value(2), plan));
}

Result<Samples> CheckedLines(const Lanes& lanes, CodePlan plan) {
  return OnLane(
      lanes, 0,
      TimeCode(lanes.engine(),
               {.owner = OwnerId("bench"), .code = TwoHundredLines(), .purpose = Purpose::kCheck},
               std::nullopt, plan));
}

}  // namespace caisson::bench
