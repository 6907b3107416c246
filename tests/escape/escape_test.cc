// Runs every program of attacks/ against the real engine, policy or not, and looks from the host's side
// whether the harm was done; then that the next run on the same worker finds no trace of it (I8, I9).
//
// An attack says in comments on its first lines what must hold:
//   # harm: what would be lost          # expect: the ways it may end, "limit" or "limit/memory" ...
//   # never: words it must not print    # limit: name=value        # repeat: times, SEED counting up
// It knows CANARY_FILE and CANARY_DIR on the host, PORT where the host listens, and SEED.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/unique_fd.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

// What an attack may leave in the host: output on its way, and what malloc keeps.
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

struct Attack {
  std::string name;
  std::string code;
  std::vector<std::string> expect;
  std::vector<std::string> never;
  Limits limits;
  int repeat = 1;
};

void PrintTo(const Attack& attack, std::ostream* out) {
  *out << attack.name;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

Attack Load(const fs::path& path) {
  Attack attack{
      .name = path.stem(), .code = ReadFile(path), .expect = {}, .never = {}, .limits = {}};
  std::istringstream lines(attack.code);
  std::string line;
  while (std::getline(lines, line) && line.starts_with("# ")) {
    const std::size_t colon = line.find(": ");
    const std::string key = line.substr(2, colon - 2);
    const auto words = Words(line.substr(colon + 1));
    if (key == "expect") attack.expect = words;
    if (key == "never") attack.never = words;
    if (key == "repeat") attack.repeat = std::stoi(words.at(0));
    for (const std::string& word : key == "limit" ? words : std::vector<std::string>()) {
      const std::size_t equals = word.find('=');
      const auto set = SetLimit(attack.limits, word.substr(0, equals), word.substr(equals + 1));
      EXPECT_TRUE(set) << path;
    }
  }
  return attack;
}

std::vector<Attack> LoadAll() {
  std::vector<Attack> attacks;
  for (const auto& entry : fs::directory_iterator(CAISSON_ESCAPE_DIR "/attacks")) {
    if (entry.path().extension() == ".py") attacks.push_back(Load(entry.path()));
  }
  std::ranges::sort(attacks, {}, &Attack::name);
  return attacks;
}

// A file of the host that no cell may read or write, in a folder where none may make another.
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

// Everything an outcome shows, for the search for what it must not show.
std::string AllText(const Outcome& outcome) {
  return outcome.stdout_text + outcome.stderr_text + outcome.result_repr.value_or("") +
         ToJson(outcome, FileData::kInclude);
}

struct Clean {
  std::string state;
  std::string chance;
};

class EscapeTest : public ::testing::TestWithParam<Attack> {
 protected:
  static void SetUpTestSuite() {
    engine_ = StartEngine();
    probe_ = ReadFile(CAISSON_ESCAPE_DIR "/probe.py");
    clean_ = Probe();
    // The probe itself leaves nothing either.
    EXPECT_EQ(Probe().state, clean_.state);
  }
  static void TearDownTestSuite() { engine_.reset(); }

  static Clean Probe() {
    const Outcome outcome = RunCode(*engine_, probe_);
    const auto* pair = outcome.result ? outcome.result->If<List>() : nullptr;
    EXPECT_TRUE(pair) << Ending(outcome);
    EXPECT_EQ(outcome.stdout_text + outcome.stderr_text, "");
    EXPECT_TRUE(outcome.files.empty());
    if (pair == nullptr) return {};
    return {.state = *pair->items.at(0).If<std::string>(), .chance = *ToJson(pair->items.at(1))};
  }

  // The attack's own run, with a tool that tells the length of what it is given.
  Outcome Perform(const Attack& attack, int seed) {
    std::string known = "CANARY_FILE = '" + canary_.file() + "'; CANARY_DIR = '" +
                        canary_.folder() + "'; PORT = " + std::to_string(listener_.port()) +
                        "; SEED = " + std::to_string(seed) + "\n";
    Guest guest = Guest::Open(*engine_, "mallory");
    guest.Start({.code = known + attack.code, .limits = attack.limits, .tools = {"tool"}});
    return guest.Serve([](const ToolCall& call) {
      const auto* bytes =
          call.positional.items.empty() ? nullptr : call.positional.items[0].If<Bytes>();
      return bytes == nullptr ? Value() : Value(static_cast<std::int64_t>(bytes->data.size()));
    });
  }

  void CheckOutcome(const Attack& attack, const Outcome& outcome) {
    const std::string status(ToString(outcome.status));
    const std::string exact = status + "/" + std::string(ToString(outcome.reason));
    EXPECT_THAT(attack.expect,
                ::testing::AnyOf(::testing::Contains(status), ::testing::Contains(exact)))
        << Ending(outcome);
    const std::string text = AllText(outcome);
    EXPECT_THAT(text, Not(HasSubstr(kSecret)));
    EXPECT_THAT(text, Not(HasSubstr(kCanary)));
    for (const std::string& word : attack.never)
      EXPECT_THAT(outcome.stdout_text, Not(HasSubstr(word)));
    EXPECT_LE(outcome.stdout_text.size(), attack.limits.stdout_bytes);
    EXPECT_LE(outcome.stderr_text.size(), attack.limits.stderr_bytes);
    EXPECT_LE(outcome.usage.peak_memory_bytes, attack.limits.memory_bytes);
    EXPECT_LT(outcome.usage.wall, attack.limits.wall_time + std::chrono::seconds(3));
    std::uint64_t captured = 0;
    for (const OutcomeFile& file : outcome.files) captured += file.contents.size();
    EXPECT_LE(captured, attack.limits.total_file_bytes);
  }

  static std::unique_ptr<WasmEngine> engine_;
  static std::string probe_;
  static Clean clean_;
  Canary canary_;
  Listener listener_;
};
std::unique_ptr<WasmEngine> EscapeTest::engine_;
std::string EscapeTest::probe_;
Clean EscapeTest::clean_;

TEST_P(EscapeTest, DoesNoHarmAndLeavesNoTrace) {
  const Attack& attack = GetParam();
  ASSERT_FALSE(attack.expect.empty()) << "the attack does not say how it must end";
  // Two victims: one that has just been there, one that waits in the same worker meanwhile.
  RunCode(*engine_, "secret = ['" + std::string(kSecret) + "' * i for i in range(500)]");
  Guest bob = Guest::Open(*engine_, "bob");
  bob.Start({.code = "secret = '" + std::string(kSecret) + "'\ntool()\nsecret[-4:]",
             .limits = {.wall_time = std::chrono::seconds(200)},
             .tools = {"tool"}});
  bob.NextCall();
  const Census before = TakeCensus();
  const std::uint64_t memory = OwnResidentMemory();
  const auto lost = engine_->stats().workers_lost;

  for (int i = 0; i < attack.repeat; ++i) CheckOutcome(attack, Perform(attack, i + 1));

  EXPECT_TRUE(canary_.intact());
  EXPECT_FALSE(listener_.anybody_came());
  EXPECT_EQ(engine_->stats().workers_lost, lost);
  EXPECT_EQ(TakeCensus(), before);
  EXPECT_LE(OwnResidentMemory(), memory + kGrowthBytes);
  const Clean now = Probe();
  EXPECT_EQ(now.state, clean_.state);
  EXPECT_NE(now.chance, clean_.chance);
  ASSERT_TRUE(bob.Answer(0, Value()));
  EXPECT_EQ(bob.End().result, Value(std::string("71ad")));
}

INSTANTIATE_TEST_SUITE_P(Attacks, EscapeTest, ::testing::ValuesIn(LoadAll()),
                         [](const auto& info) { return info.param.name; });

// A probe that finds nothing must be one that would find something.
TEST(EscapeSuite, TheProbeFindsWhatASessionLeaves) {
  auto engine = StartEngine();
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
        "open('/tmp/x', 'w').close()", "import sys; sys.intern('left' + 'over')",
        "import json; json.loads = None", "import atexit; atexit.register(print)"}) {
    EXPECT_NE(state(leftover), clean) << leftover;
  }
}

TEST(EscapeSuite, HasAtLeastFortyAttacks) {
  EXPECT_GE(LoadAll().size(), 40u);
}

}  // namespace
}  // namespace caisson::testing
