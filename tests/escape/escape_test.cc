// Runs every program of attacks/ in the real engines, without a policy, and checks on the host
// whether the harm was done; then that the next run on the same worker finds no trace of it (I8,
// I9).
//
// Comments on the first lines of an attack state what must hold:
//   # harm: what would be lost
//   # expect: the ways it may end, "limit" or "limit/memory" ...
//   # never: words it must not print
//   # never landlock: the same for native cells in that tier
//   # limit: name=value
//   # repeat: times, SEED counting up
//   # engines: the only engine to run it in ("wasm" or "native"); default: both
//   # not landlock: why it does not apply to native cells in tier landlock
//   # not foreign landlock: why it does not apply there with a Python that is started for each run
//   # expect native: if that engine ends it in another way than `expect` says
//   # expect landlock: if native cells in that tier end it in another way
//   # mounts: "yes" if it needs /ro, /rw and /overlay, directories of the host with host.txt in
//   them; in tier landlock there is only /ro
// It gets CANARY_FILE and CANARY_DIR on the host, PORT where the host listens, and SEED.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/sanitized.h"
#include "base/unique_fd.h"
#include "jail/testing/namespaces.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"
#include "tests/integration/ordinary_user.h"
#include "workspace/testing/test_directory.h"
#include "workspace/workspace.h"

namespace caisson::testing {
namespace {

// What an attack may leave in the host: pending output, and memory that malloc keeps.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kGrowthBytes = std::uint64_t{1}
                                       << 30;  // Sanitizers shadow and keep memory.
#else
constexpr std::uint64_t kGrowthBytes = 128u << 20;
#endif

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCanary = "CANARY-CONTENTS-5f0c";
constexpr const char* kSecret = "SECRET-OF-BOB-71ad";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Where attacks are run: an engine in a tier.
struct Target {
  const char* name;
  EngineKind kind;
  jail::Tier tier;

  bool operator==(const Target& other) const {
    return std::string_view(name) == other.name && kind == other.kind && tier == other.tier;
  }
};
constexpr Target kWasm{"wasm", EngineKind::kWasm, jail::Tier::kNamespace};
constexpr Target kWasmLandlock{"wasm", EngineKind::kWasm, jail::Tier::kLandlock};
constexpr Target kNative{"native", EngineKind::kNative, jail::Tier::kNamespace};
constexpr Target kLandlock{"landlock", EngineKind::kNative, jail::Tier::kLandlock};
// The same attacks on a Python that is started for each run, with the same walls.
constexpr Target kForeign{"native", EngineKind::kForeign, jail::Tier::kNamespace};
constexpr Target kForeignLandlock{"landlock", EngineKind::kForeign, jail::Tier::kLandlock};

struct Attack {
  std::string name;
  std::string code;
  Target target;
  std::vector<std::string> expect;
  std::vector<std::string> never;
  Limits limits;
  int repeat = 1;
  bool mounts = false;
  bool applies = true;
};

void PrintTo(const Attack& attack, std::ostream* out) {
  *out << attack.target.name << "/" << attack.name;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

constexpr std::size_t kWordsOfAReason = 4;

// One line of the head of an attack.
void ReadHead(const std::string& key, const std::vector<std::string>& words, Attack& attack) {
  const bool on_native = attack.target.kind != EngineKind::kWasm;
  const bool in_landlock = on_native && attack.target.tier == jail::Tier::kLandlock;
  const bool is_foreign = attack.target.kind == EngineKind::kForeign;
  if (key == "engines") {
    EXPECT_THAT(words, ::testing::Each(::testing::AnyOf("wasm", "native"))) << attack.name;
    attack.applies &= std::ranges::find(words, on_native ? "native" : "wasm") != words.end();
  }
  if (key == "not landlock" || key == "not foreign landlock") {
    EXPECT_GE(words.size(), kWordsOfAReason) << attack.name << " does not say why";
    attack.applies &= !in_landlock || (key == "not foreign landlock" && !is_foreign);
  }
  if (key == "expect") attack.expect = words;
  if (key == "expect native" && on_native) attack.expect = words;
  if (key == "expect landlock" && in_landlock) attack.expect = words;
  if (key == "never" || (key == "never landlock" && in_landlock)) attack.never = words;
  if (key == "repeat") attack.repeat = std::stoi(words.at(0));
  if (key == "mounts") attack.mounts = true;
  if (key != "limit") return;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const auto set = SetLimit(attack.limits, word.substr(0, equals), word.substr(equals + 1));
    EXPECT_TRUE(set) << attack.name;
  }
}

// Returns the attack for `target`; nullopt if it does not apply there.
std::optional<Attack> Load(const fs::path& path, const Target& target) {
  Attack attack{.name = path.stem(),
                .code = ReadFile(path),
                .target = target,
                .expect = {},
                .never = {},
                .limits = {}};
  std::istringstream lines(attack.code);
  std::string line;
  while (std::getline(lines, line) && line.starts_with("# ")) {
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    ReadHead(line.substr(2, colon - 2), Words(line.substr(colon + 1)), attack);
  }
  if (!attack.applies) return std::nullopt;
  return attack;
}

std::vector<Attack> LoadAll(const Target& target) {
  std::vector<Attack> attacks;
  for (const auto& entry : fs::directory_iterator(CAISSON_ESCAPE_DIR "/attacks")) {
    if (entry.path().extension() != ".py") continue;
    if (auto attack = Load(entry.path(), target)) attacks.push_back(*std::move(attack));
  }
  std::ranges::sort(attacks, {}, &Attack::name);
  return attacks;
}

// A file of the host that no cell may read or write, in a folder where no cell may create a file.
class Canary {
 public:
  Canary() {
    std::string path = fs::temp_directory_path() / "caisson-canary-XXXXXX";
    folder_ = ::mkdtemp(path.data());
    std::ofstream(file()) << kCanary;
    fs::permissions(folder_, fs::perms::all);
    fs::permissions(file(), fs::perms::all);
  }
  ~Canary() { fs::remove_all(folder_); }
  std::string folder() const { return folder_; }
  std::string file() const { return folder_ / "canary"; }
  bool intact() const {
    return ReadFile(file()) == kCanary &&
           std::distance(fs::directory_iterator(folder_), fs::directory_iterator()) == 1;
  }

 private:
  fs::path folder_;
};

// The part of the host that an attack with mounts sees.
class Shared {
 public:
  Shared() {
    for (const auto* directory : {&ro_, &rw_, &overlay_}) {
      directory->Put("host.txt", "host");
      // Root of a container can only share what is everybody's with a native cell.
      if (!jail::IsRootWithoutSysAdmin()) continue;
      fs::permissions(directory->path(), fs::perms::all);
      fs::permissions(directory->path() / "host.txt", fs::perms::all);
    }
  }
  std::shared_ptr<HostFiles> Open(const Target& target) {
    std::vector<workspace::MountSpec> mounts = {
        {.host = ro_.path(), .point = {.guest_path = "/ro"}},
        {.host = rw_.path(), .point = {.guest_path = "/rw", .mode = MountMode::kReadWrite}},
        {.host = overlay_.path(),
         .point = {.guest_path = "/overlay", .mode = MountMode::kOverlay}}};
    // Native cells without a mount namespace can only read.
    if (target.kind != EngineKind::kWasm && target.tier != jail::Tier::kNamespace) {
      mounts.resize(1);
    }
    auto opened = workspace::Workspace::Open(std::move(mounts), {.pool = pool_.get_executor()});
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? *opened : nullptr;
  }
  // Waits until nothing is under way that holds the directories.
  void AwaitIdle() { boost::asio::post(pool_, boost::asio::use_future).get(); }
  // Checks that read-only directories are unchanged, and that the others hold only files and
  // directories of a sane size.
  void ExpectUnharmed() const {
    for (const auto* directory : {&ro_, &overlay_}) {
      EXPECT_EQ(directory->Tree(), "host.txt ");
      EXPECT_EQ(directory->Get("host.txt"), "host");
    }
    for (const auto& entry : fs::recursive_directory_iterator(rw_.path())) {
      const auto status = entry.symlink_status();
      EXPECT_TRUE(fs::is_directory(status) || fs::is_regular_file(status)) << entry.path();
      EXPECT_EQ(status.permissions() & (fs::perms::set_uid | fs::perms::set_gid), fs::perms::none);
      if (fs::is_regular_file(status)) EXPECT_LE(entry.file_size(), DefaultCeiling().file_bytes);
    }
  }

 private:
  workspace::TestDirectory ro_;
  workspace::TestDirectory rw_;
  workspace::TestDirectory overlay_;
  boost::asio::thread_pool pool_{1};
};

class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    EXPECT_EQ(::getsockname(socket_.get(), generic, &size), 0);
    port_ = ::ntohs(address.sin_port);
  }
  int port() const { return port_; }
  bool anybody_came() const { return ::accept(socket_.get(), nullptr, nullptr) >= 0; }

 private:
  UniqueFd socket_;
  int port_ = 0;
};

// Returns all text of an outcome, to search it for secrets.
std::string AllText(const Outcome& outcome) {
  return outcome.stdout_text + outcome.stderr_text + outcome.result_repr.value_or("") +
         ToJson(outcome, FileData::kInclude);
}

struct Clean {
  std::string state;
  std::string chance;
};

// One engine for all attacks on it: each follows the others, as a next run would.
class EscapeTest : public ::testing::TestWithParam<Attack> {
 protected:
  static void TearDownTestSuite() { engine_.reset(); }
  void SetUp() override {
    const Target& target = GetParam().target;
    if (engine_ && target == target_) return;
    engine_.reset();
    engine_ = StartEngine(target.kind, {.tier = target.tier});
    target_ = target;
    clean_ = Probe();
    // The probe itself leaves nothing either.
    EXPECT_EQ(Probe().state, clean_.state);
  }

  static Clean Probe() {
    const Outcome outcome = RunCode(*engine_, ReadFile(CAISSON_ESCAPE_DIR "/probe.py"));
    const auto* pair = outcome.result ? outcome.result->If<List>() : nullptr;
    EXPECT_TRUE(pair) << Ending(outcome);
    EXPECT_EQ(outcome.stdout_text + outcome.stderr_text, "");
    EXPECT_TRUE(outcome.files.empty());
    if (pair == nullptr) return {};
    return {.state = *pair->items.at(0).If<std::string>(), .chance = *ToJson(pair->items.at(1))};
  }

  // Returns the length of the argument; for ("answer", n), as many characters.
  static Value AnswerTo(const ToolCall& call) {
    const auto& given = call.positional.items;
    if (given.size() == 2 && given[0] == Value("answer")) {
      const auto* length = given[1].If<std::int64_t>();
      constexpr std::int64_t kMost = 8 << 20;
      if (length != nullptr && *length >= 0 && *length <= kMost) {
        return Value(std::string(static_cast<std::size_t>(*length), 'x'));
      }
    }
    const auto* bytes = given.empty() ? nullptr : given[0].If<Bytes>();
    return bytes == nullptr ? Value() : Value(static_cast<std::int64_t>(bytes->data.size()));
  }

  // Runs the attack, with a tool that answers as AnswerTo().
  Outcome Perform(const Attack& attack, int seed) {
    std::string known = "CANARY_FILE = '" + canary_.file() + "'; CANARY_DIR = '" +
                        canary_.folder() + "'; PORT = " + std::to_string(listener_.port()) +
                        "; SEED = " + std::to_string(seed) + "\n";
    Guest guest =
        Guest::Open(*engine_, "mallory", attack.mounts ? shared_.Open(attack.target) : nullptr);
    guest.Start({.code = known + attack.code, .limits = attack.limits, .tools = {"tool"}});
    return guest.Serve([](const ToolCall& call) { return AnswerTo(call); });
  }

  void CheckOutcome(const Attack& attack, const Outcome& outcome) {
    const std::string status(ToString(outcome.status));
    const std::string exact = status + "/" + std::string(ToString(outcome.reason));
    const bool of_memory =
        exact == "limit/memory" || std::ranges::count(attack.expect, "limit/memory") > 0;
    if (MemoryTells(attack) || !of_memory) {
      EXPECT_THAT(attack.expect,
                  ::testing::AnyOf(::testing::Contains(status), ::testing::Contains(exact)))
          << Ending(outcome);
    }
    const std::string text = AllText(outcome);
    EXPECT_THAT(text, Not(HasSubstr(kSecret)));
    EXPECT_THAT(text, Not(HasSubstr(kCanary)));
    for (const std::string& word : attack.never)
      EXPECT_THAT(outcome.stdout_text, Not(HasSubstr(word)));
    EXPECT_LE(outcome.stdout_text.size(), attack.limits.stdout_bytes);
    EXPECT_LE(outcome.stderr_text.size(), attack.limits.stderr_bytes);
    if (MemoryTells(attack)) {
      EXPECT_LE(outcome.usage.peak_memory_bytes, attack.limits.memory_bytes + OwnMemory(attack));
    }
    EXPECT_LT(outcome.usage.wall, attack.limits.wall_time + std::chrono::seconds(3));
    std::uint64_t captured = 0;
    for (const OutcomeFile& file : outcome.files) captured += file.contents.size();
    EXPECT_LE(captured, attack.limits.total_file_bytes);
  }

  // A sanitizer in the cell needs additional memory, many times that of the code.
  static bool MemoryTells(const Attack& attack) {
    return !kIsSanitized || attack.target.kind == EngineKind::kWasm;
  }

  // Memory of the interpreter before the code, for engines whose limit counts only what the run
  // adds.
  static std::uint64_t OwnMemory(const Attack& attack) {
    return attack.target.kind != EngineKind::kWasm ? 64u << 20 : 0;
  }

  static std::unique_ptr<Engine> engine_;
  static Target target_;
  static Clean clean_;
  Canary canary_;
  Shared shared_;
  Listener listener_;
};
std::unique_ptr<Engine> EscapeTest::engine_;
Target EscapeTest::target_ = kWasm;
Clean EscapeTest::clean_;

// A thread of the engine may still be removing the files of cells that have ended: several equal
// counts in a row show that it is done.
Census SettledCensus() {
  constexpr int kEqual = 6;
  Census census = TakeCensus();
  for (int equal = 1; equal < kEqual;) {
    Census next = TakeCensus();
    equal = next == census ? equal + 1 : 1;
    census = std::move(next);
  }
  return census;
}

TEST_P(EscapeTest, DoesNoHarmAndLeavesNoTrace) {
  const Attack& attack = GetParam();
  ASSERT_FALSE(attack.expect.empty()) << "the attack does not say how it must end";
  // Two victims: one that just ran, one that waits in the same worker meanwhile.
  RunCode(*engine_, "secret = ['" + std::string(kSecret) + "' * i for i in range(500)]");
  Guest bob = Guest::Open(*engine_, "bob");
  bob.Start({.code = "secret = '" + std::string(kSecret) + "'\ntool()\nsecret[-4:]",
             .limits = {.wall_time = std::chrono::seconds(200)},
             .tools = {"tool"}});
  bob.NextCall();
  const bool has_scratch =
      attack.target.kind != EngineKind::kWasm && attack.target.tier == jail::Tier::kLandlock;
  const Census before = has_scratch ? SettledCensus() : TakeCensus();
  const std::uint64_t memory = OwnResidentMemory();
  const auto lost = engine_->stats().workers_lost;

  for (int i = 0; i < attack.repeat; ++i) CheckOutcome(attack, Perform(attack, i + 1));

  shared_.AwaitIdle();
  RunCode(*engine_, "");  // The lane has released them too.
  EXPECT_TRUE(canary_.intact());
  shared_.ExpectUnharmed();
  EXPECT_FALSE(listener_.anybody_came());
  EXPECT_EQ(engine_->stats().workers_lost, lost);
  // A thread of the engine may still be removing thousands of files.
  Census after = TakeCensus();
  for (int i = 0; after != before && i < 1000; ++i) after = TakeCensus();
  EXPECT_EQ(after, before);
  EXPECT_LE(OwnResidentMemory(), memory + kGrowthBytes);
  const Clean now = Probe();
  EXPECT_EQ(now.state, clean_.state);
  EXPECT_NE(now.chance, clean_.chance);
  ASSERT_TRUE(bob.Answer(0, Value()));
  EXPECT_EQ(bob.End().result, Value(std::string("71ad")));
}

std::string NameOfAttack(const ::testing::TestParamInfo<Attack>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Wasm, EscapeTest, ::testing::ValuesIn(LoadAll(kWasm)), NameOfAttack);
INSTANTIATE_TEST_SUITE_P(WasmLandlock, EscapeTest, ::testing::ValuesIn(LoadAll(kWasmLandlock)),
                         NameOfAttack);
INSTANTIATE_TEST_SUITE_P(Native, EscapeTest, ::testing::ValuesIn(LoadAll(kNative)), NameOfAttack);
INSTANTIATE_TEST_SUITE_P(NativeLandlock, EscapeTest, ::testing::ValuesIn(LoadAll(kLandlock)),
                         NameOfAttack);
INSTANTIATE_TEST_SUITE_P(Foreign, EscapeTest, ::testing::ValuesIn(LoadAll(kForeign)), NameOfAttack);
INSTANTIATE_TEST_SUITE_P(ForeignLandlock, EscapeTest,
                         ::testing::ValuesIn(LoadAll(kForeignLandlock)), NameOfAttack);

// The kernel may grant another user what it refuses root, and the other way round.
TEST(EscapeSuite, NativesBoundaryHoldsForAnOrdinaryUser) {
  jail::SkipWithoutNamespaces();
  ExpectPassAsNobody(
      "Native/*/process_*:Native/*/signals_*:Native/*/syscalls_*:Native/*/native_files_*:Native/*/"
      "mounts_*:"
      "Native/*/network_*:Native/*/descriptors_*:Native/*/leftover_*:Native/*/fault_*:"
      "NativeLandlock/*/native_files_*:NativeLandlock/*/signals_*:NativeLandlock/*/syscalls_*");
}

// A probe that finds nothing must be able to find something.
class ProbeTest : public OnEachEngine {};
INSTANTIATE_ON_BOTH_ENGINES(ProbeTest);

TEST_P(ProbeTest, FindsWhatASessionLeaves) {
  auto engine = StartEngine(GetParam());
  const std::string probe = ReadFile(CAISSON_ESCAPE_DIR "/probe.py");
  const auto state = [&](const std::string& before) {
    Guest guest = Guest::Open(*engine);
    guest.Start({.code = before}, AfterRun::kKeep);
    EXPECT_EQ(guest.End().status, RunStatus::kCompleted) << before;
    guest.Start({.code = probe});
    const Outcome outcome = guest.End();
    EXPECT_TRUE(outcome.result) << Ending(outcome);
    return outcome.result ? *outcome.result->If<List>()->items.at(0).If<std::string>() : "";
  };
  const std::string clean = state("");
  EXPECT_EQ(state(""), clean);
  for (const char* leftover :
       {"x = 1", "import builtins; builtins.x = 1", "import sys; sys.setrecursionlimit(500)",
        "import os; os.left = None", "import decimal; decimal.getcontext().prec = 5",
        "open('/tmp/x', 'w').close()", "import json; json.loads = None",
        "import atexit; atexit.register(print)"}) {
    EXPECT_NE(state(leftover), clean) << leftover;
  }
}

TEST(EscapeSuite, MostAttacksOnNativeRunInTierLandlockToo) {
  // Each of the others says why not (ReadHead).
  EXPECT_GE(LoadAll(kLandlock).size(), LoadAll(kNative).size() * 4 / 5);
}

TEST(EscapeSuite, HasAtLeastFortyAttacksOnWasmAndSixtyMoreOnNative) {
  const auto on_native_alone = [](const Attack& attack) {
    return !Load(fs::path(CAISSON_ESCAPE_DIR "/attacks") / (attack.name + ".py"), kWasm);
  };
  EXPECT_GE(LoadAll(kWasm).size(), 40u);
  EXPECT_GE(std::ranges::count_if(LoadAll(kNative), on_native_alone), 60);
}

}  // namespace
}  // namespace caisson::testing
