// Runs CPython's own test modules, each in a fresh cell of the wasm engine.
//
//   run_cpython_tests --lib DIR --list FILE --driver FILE [--worker-dir DIR] [--quick] [--report
//   FILE] [MODULE...]
//
// Exit status: 0 all passed, 1 not, 2 usage, 77 there are no sources (the guest was built
// elsewhere).
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/spawn.h"
#include "engine/wasm/wasm_engine.h"
#include "module_list.h"
#include "server/installation.h"

namespace caisson::cpython {
namespace {

namespace fs = std::filesystem;

constexpr int kExitSkipped = 77;
// Parts of Lib/test that no listed module reads, which need not be copied into every cell.
constexpr std::array kNotCarried{"__pycache__",  "libregrtest", "leakers",           "crashers",
                                 "test_tkinter", "test_ttk",    "test_asyncio",      "test_capi",
                                 "test_ctypes",  "test_tools",  "test_peg_generator"};

struct Arguments {
  std::string lib;
  std::string list;
  std::string driver;
  std::string worker_dir;
  std::string report;
  bool quick = false;
  std::set<std::string> only;
};

struct Verdict {
  bool good = false;
  std::int64_t passed = 0;
  std::int64_t skipped = 0;
  std::int64_t left_out = 0;
  double seconds = 0;
  std::string trouble;  // A readable description of what went wrong.
};

class NoEvents final : public RunEvents {
 public:
  void OnOutput(OutputStream /*stream*/, std::string_view /*bytes*/) override {}
  void OnCall(ToolCall /*call*/) override {}
};

Result<std::string> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Error(ErrorCode::kNotFound, "cannot read " + path.string());
  return std::move(text).str();
}

// Reads the test package for the cells, once; the contents are shared.
Result<std::vector<InputFile>> ReadTestPackage(const fs::path& lib) {
  std::vector<InputFile> files;
  const std::set<std::string> not_carried(kNotCarried.begin(), kNotCarried.end());
  std::error_code failed;
  fs::recursive_directory_iterator entries(lib / "test", failed);
  if (failed) return Error(ErrorCode::kNotFound, (lib / "test").string() + ": " + failed.message());
  for (const auto end = fs::recursive_directory_iterator(); entries != end; ++entries) {
    if (entries->is_directory() && not_carried.contains(entries->path().filename().string())) {
      entries.disable_recursion_pending();
    } else if (entries->is_regular_file()) {
      TRY_ASSIGN(std::string contents, ReadFile(entries->path()));
      files.push_back({.path = "/input/" + entries->path().lexically_relative(lib).generic_string(),
                       .contents = std::make_shared<const std::string>(std::move(contents))});
    }
  }
  return files;
}

std::string PythonText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string CodeFor(const TestModule& module, const std::string& driver) {
  std::string left_out;
  for (const LeftOut& test : module.left_out) left_out += PythonText(test.pattern) + ", ";
  return "MODULE = " + PythonText(module.name) + "\nLEFT_OUT = [" + left_out + "]\n" + driver;
}

Limits GenerousLimits() {
  Limits limits;
  limits.wall_time = std::chrono::seconds(280);
  limits.cpu_time = std::chrono::seconds(280);
  limits.memory_bytes = 1u << 30;
  limits.code_bytes = 256u << 10;
  limits.stderr_bytes = 8u << 20;
  limits.result_bytes = 4u << 20;
  limits.file_bytes = 32u << 20;
  limits.total_file_bytes = 64u << 20;
  limits.files = 1000;
  limits.open_files = 512;
  return limits;
}

std::int64_t Count(const Dict& result, std::string_view key) {
  const Value* value = result.Find(key);
  if (value == nullptr) return 0;
  if (const auto* list = value->If<List>()) return static_cast<std::int64_t>(list->items.size());
  const auto* number = value->If<std::int64_t>();
  return number == nullptr ? 0 : *number;
}

std::string TextAt(const Value& pair, std::size_t index) {
  const auto* list = pair.If<List>();
  if (list == nullptr || list->items.size() <= index) return {};
  const auto* text = list->items[index].If<std::string>();
  return text == nullptr ? std::string() : *text;
}

std::string Bad(const Dict& result) {
  std::string text;
  const Value* bad = result.Find("bad");
  const auto* list = bad == nullptr ? nullptr : bad->If<List>();
  if (list == nullptr) return text;
  for (const Value& test : list->items) text += TextAt(test, 0) + "\n" + TextAt(test, 1) + "\n";
  return text;
}

// The cell ended before it could report its tests.
std::string Broken(const Outcome& outcome) {
  std::string text(ToString(outcome.status));
  text += "/" + std::string(ToString(outcome.reason));
  if (outcome.error) {
    text +=
        " " + outcome.error->type + ": " + outcome.error->message + "\n" + outcome.error->traceback;
  }
  const std::string& told = outcome.stderr_text;
  if (told.size() < 2) return text;
  const std::size_t line = told.rfind('\n', told.size() - 2);
  return text + "\nduring " + told.substr(line == told.npos ? 0 : line + 1);
}

Verdict Judge(const Outcome& outcome) {
  Verdict verdict;
  verdict.seconds = std::chrono::duration<double>(outcome.usage.wall).count();
  const Dict* result = outcome.result ? outcome.result->If<Dict>() : nullptr;
  if (outcome.status != RunStatus::kCompleted || result == nullptr) {
    verdict.trouble = Broken(outcome);
    return verdict;
  }
  verdict.passed = Count(*result, "passed");
  verdict.skipped = Count(*result, "skipped");
  verdict.left_out = Count(*result, "left_out");
  verdict.trouble = Bad(*result);
  if (const Value* why = result->Find("skipped_whole")) {
    const auto* text = why->If<std::string>();
    verdict.trouble = "skipped as a whole: " + (text == nullptr ? "" : *text) + "\n";
  }
  if (verdict.trouble.empty() && verdict.passed == 0) verdict.trouble = "not one test passed\n";
  verdict.good = verdict.trouble.empty();
  return verdict;
}

// Takes the modules from the list one after the other, on every lane.
class Runner {
 public:
  Runner(WasmEngine& engine, std::vector<TestModule> modules, std::string driver,
         std::vector<InputFile> files)
      : engine_(engine),
        modules_(std::move(modules)),
        driver_(std::move(driver)),
        files_(std::move(files)),
        verdicts_(modules_.size()) {}

  void Run() {
    std::vector<std::future<void>> lanes;
    for (std::size_t lane = 0; lane < engine_.lanes(); ++lane) {
      lanes.push_back(SpawnFuture(engine_.lane_executor(lane), WorkOff()));
    }
    for (auto& lane : lanes) lane.get();
  }

  const std::vector<TestModule>& modules() const { return modules_; }
  const std::vector<Verdict>& verdicts() const { return verdicts_; }

 private:
  asio::awaitable<void> WorkOff() {
    for (std::size_t i = next_++; i < modules_.size(); i = next_++) {
      auto outcome = co_await RunModule(modules_[i]);
      verdicts_[i] = outcome ? Judge(*outcome) : Verdict{.trouble = outcome.error().message()};
      Show(modules_[i], verdicts_[i]);
    }
  }

  asio::awaitable<Result<Outcome>> RunModule(const TestModule& module) {
    auto cell = co_await engine_.Open({.owner = OwnerId("cpython")});
    if (!cell) co_return std::move(cell).error();
    NoEvents events;
    co_return co_await (*cell)->Run(
        {.code = CodeFor(module, driver_), .limits = GenerousLimits(), .files = files_}, events,
        AfterRun::kDiscard);
  }

  // One write per module, so that lanes do not mix.
  static void Show(const TestModule& module, const Verdict& verdict) {
    std::array<char, 200> line{};
    std::snprintf(line.data(), line.size(),
                  "%-24s %5lld passed %4lld skipped %3lld left out %6.1f s  %s\n",
                  module.name.c_str(), static_cast<long long>(verdict.passed),
                  static_cast<long long>(verdict.skipped), static_cast<long long>(verdict.left_out),
                  verdict.seconds, verdict.good ? "ok" : "FAILED");
    std::cout << std::string(line.data()) + verdict.trouble << std::flush;
  }

  WasmEngine& engine_;
  const std::vector<TestModule> modules_;
  const std::string driver_;
  const std::vector<InputFile> files_;
  std::vector<Verdict> verdicts_;
  std::atomic<std::size_t> next_ = 0;
};

Result<std::vector<TestModule>> ChooseModules(const Arguments& arguments) {
  TRY_ASSIGN(const std::string text, ReadFile(arguments.list));
  TRY_ASSIGN(std::vector<TestModule> modules, ParseModuleList(text));
  if (arguments.quick)
    std::erase_if(modules, [](const TestModule& module) { return !module.quick; });
  if (arguments.only.empty()) return modules;
  std::set<std::string> unlisted = arguments.only;
  std::erase_if(modules,
                [&](const TestModule& module) { return unlisted.erase(module.name) == 0; });
  for (const std::string& name : unlisted) modules.push_back({.name = name});
  return modules;
}

void WriteReport(const std::string& path, const Runner& runner) {
  std::ofstream report(path);
  report << "# Written by run_cpython_tests --report: module, tests passed, skipped by the module "
            "itself,\n"
            "# left out for the reasons in modules.txt.\n";
  for (std::size_t i = 0; i < runner.modules().size(); ++i) {
    const Verdict& verdict = runner.verdicts()[i];
    report << runner.modules()[i].name << ' ' << verdict.passed << ' ' << verdict.skipped << ' '
           << verdict.left_out << (verdict.good ? "\n" : " FAILED\n");
  }
}

int Summarise(const Runner& runner) {
  std::size_t good = 0;
  std::int64_t passed = 0;
  std::int64_t left_out = 0;
  for (const Verdict& verdict : runner.verdicts()) {
    good += verdict.good ? 1 : 0;
    passed += verdict.passed;
    left_out += verdict.left_out;
  }
  std::cout << good << " of " << runner.modules().size() << " modules passed, " << passed
            << " tests in all; " << left_out << " left out for the reasons in the list\n";
  return good == runner.modules().size() ? 0 : 1;
}

Result<int> RunAll(const Arguments& arguments) {
  if (!fs::is_directory(fs::path(arguments.lib) / "test")) {
    std::cout << "skipped: no CPython sources in " << arguments.lib
              << "; `make build` fetches them\n";
    return kExitSkipped;
  }
  TRY_ASSIGN(std::vector<TestModule> modules, ChooseModules(arguments));
  TRY_ASSIGN(std::string driver, ReadFile(arguments.driver));
  TRY_ASSIGN(std::vector<InputFile> files, ReadTestPackage(arguments.lib));
  TRY_ASSIGN(const Installation found, FindInstallation(arguments.worker_dir));
  // What is tested is CPython: this tier will do, and containers allow it.
  TRY_ASSIGN(auto engine, WasmEngine::Create({.worker_path = found.worker_path,
                                              .base_path = found.base_path,
                                              .tier = jail::Tier::kLandlock}));
  Runner runner(*engine, std::move(modules), std::move(driver), std::move(files));
  runner.Run();
  if (!arguments.report.empty()) WriteReport(arguments.report, runner);
  return Summarise(runner);
}

std::optional<Arguments> ParseArguments(int argc, char** argv) {
  Arguments arguments;
  const std::map<std::string_view, std::string Arguments::*> options{
      {"--lib", &Arguments::lib},
      {"--list", &Arguments::list},
      {"--driver", &Arguments::driver},
      {"--worker-dir", &Arguments::worker_dir},
      {"--report", &Arguments::report}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (const auto option = options.find(word); option != options.end() && i + 1 < argc) {
      arguments.*(option->second) = argv[++i];
    } else if (word == "--quick") {
      arguments.quick = true;
    } else if (word.starts_with('-')) {
      return std::nullopt;
    } else {
      arguments.only.emplace(word);
    }
  }
  if (arguments.lib.empty() || arguments.list.empty() || arguments.driver.empty())
    return std::nullopt;
  return arguments;
}

}  // namespace
}  // namespace caisson::cpython

int main(int argc, char** argv) {
  const auto arguments = caisson::cpython::ParseArguments(argc, argv);
  if (!arguments) {
    std::cerr << "usage: run_cpython_tests --lib DIR --list FILE --driver FILE [--worker-dir DIR] "
                 "[--quick] "
                 "[--report FILE] [MODULE...]\n";
    return 2;
  }
  const auto status = caisson::cpython::RunAll(*arguments);
  if (status) return *status;
  std::cerr << "run_cpython_tests: " << status.error().message() << "\n";
  return 2;
}
