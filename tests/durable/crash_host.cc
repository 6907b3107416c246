// A host that dies at a given step, or lives and loses its workers there.
//
//   crash_host start STORE KEYS EFFECTS WINDOW      starts the run; dies in WINDOW, or once the run
//   waits
//   crash_host nap STORE KEYS EFFECTS WINDOW        the same with a run that sleeps
//   crash_host go STORE KEYS EFFECTS WINDOW         approves everything until the run has ended;
//   dies in WINDOW
//   crash_host parked STORE KEYS EFFECTS WINDOW     both, and its workers die in WINDOW; the run
//   waits in memory
//   crash_host asleep STORE KEYS EFFECTS WINDOW     the same; the run waits in the store
//
// All but the first print the outcome. The tools append a line to EFFECTS for each real effect.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>

#include "jail/testing/namespaces.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "tests/durable/killing_engine.h"
#include "tests/durable/killing_store.h"
#include "tests/durable/test_host.h"
#include "tests/durable/windows.h"
#include "tests/integration/engines.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;

// Whenever it starts again, it makes the same calls, with the recorded times.
constexpr const char* kCode =
    "import time\n"
    "lines = 0\n"
    "def do(tool, text):\n"
    "  global lines\n"
    "  lines += 1\n"
    "  try: return tool(text=text, at=[time.time(), time.monotonic()])\n"
    "  except Exception as e: return 'uncertain' if 'nobody knows' in str(e) else repr(e)\n"
    "[do(note, 'first'), do(send, 'asked'), do(put, 'put'), do(note, 'last'), lines]";

constexpr const char* kNap =
    "import time\n"
    "begin = time.time()\n"
    "note(text='first', at=begin)\n"
    "time.sleep(4)\n"
    "note(text='last', at=begin)\n"
    "[begin, time.time()]";

std::unique_ptr<Store> OpenByUrl(const std::string& url) {
  auto store = url.starts_with("sqlite:") ? OpenSqliteStore({.path = url.substr(7)})
                                          : OpenPostgresStore({.url = url});
  if (!store) throw std::runtime_error(store.error().message());
  return *std::move(store);
}

asio::awaitable<void> UntilCancelled() {
  asio::steady_timer forever(co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max());
  co_await forever.async_wait(asio::use_awaitable);
}

std::shared_ptr<const Tool> Effect(const std::string& file, std::string name, Approval approval,
                                   Repeat repeat) {
  return *Tool::Make(
      {.name = std::move(name),
       .input_schema = Dict{{{"properties", Dict{{{"text", Dict{}}, {"at", Dict{}}}}}}},
       .approval = std::move(approval),
       .repeat = repeat},
      Awaitable([file](Dict given) -> asio::awaitable<Result<Value>> {
        PassStep("effect:before");
        const std::string line = *given.Find("text")->If<std::string>() + "\n";
        const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
        if (::write(fd, line.data(), line.size()) < 0) std::abort();
        ::close(fd);
        if (PassStep("effect:during")) co_await UntilCancelled();
        PassStep("effect:after");
        co_return Value(std::string("done"));
      }));
}

// What is tested is the store: any tier will do, and containers may refuse namespaces.
jail::Tier UsualTier() {
  return jail::ErrorOfNamespaces() == 0 ? jail::Tier::kNamespace : jail::Tier::kLandlock;
}

int Main(const std::string& mode, const std::string& url, const std::string& keys_file,
         const std::string& effects, const std::string& window) {
  auto keys = KeyRing::LoadOrCreate(keys_file);
  if (!keys) throw std::runtime_error(keys.error().message());
  CodeSetting setting;
  setting.policy.preset = PolicyPreset::kOpen;
  setting.tools = std::make_shared<const ToolSet>(
      std::vector{Effect(effects, "note", {}, Repeat::kUnsafe),
                  Effect(effects, "send", Approval::Always(), Repeat::kUnsafe),
                  Effect(effects, "put", {}, Repeat::kIdempotent)});
  const bool lives = mode == "parked" || mode == "asleep";
  RunSettings settings{.lease = 1s, .poll = 20ms};
  if (mode == "asleep") settings.keep_parked = 0ns;
  Host host(MakeKillingEngine(StartEngine(EngineKind::kWasm, {.tier = UsualTier()})),
            MakeKillingStore(OpenByUrl(url)), *keys,
            std::make_shared<const CodeSetting>(std::move(setting)), settings);
  const IsolationKey ann(*Identity::Create({.user = "ann"}));
  SetWindow(window, lives ? Victim::kWorkers : Victim::kHost);
  const bool edits = mode == "edit";
  if (mode != "go" && !edits) host.Start(ann, {.code = mode == "nap" ? kNap : kCode});
  if (mode == "start") ::kill(::getpid(), SIGKILL);
  host.runs().Tend();
  auto runs = host.Now(host.runs().List(ann, {}, {}));
  if (!runs || runs->items.empty()) throw std::runtime_error("there is no run");
  RunView view = runs->items[0];
  while (view.state != RunState::kFinished) {
    // Approves everything; again, if the process that approved it before has died.
    for (const OutcomeApproval& approval : view.outcome.approvals) {
      Answer answer{.verdict = ApprovalState::kApproved, .by = "ann"};
      if (edits) answer.changes = Dict{{{"text", "edited"}}};
      static_cast<void>(
          host.Now(host.runs().Decide(ann, ApprovalId(approval.id), std::move(answer))));
    }
    auto next = host.Now(host.runs().Await(ann, view.id, ApprovalIds(view),
                                           std::chrono::steady_clock::now() + 100ms));
    if (!next) throw std::runtime_error(next.error().message());
    view = *std::move(next);
  }
  if (lives && !WindowWasReached()) throw std::runtime_error("it never came to " + window);
  std::cout << ToJson(view.outcome, FileData::kOmit) << std::endl;
  return 0;
}

}  // namespace
}  // namespace caisson::testing

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  try {
    return caisson::testing::Main(argv[1], argv[2], argv[3], argv[4], argv[5]);
  } catch (const std::exception& thrown) {
    std::cerr << "crash_host: " << thrown.what() << std::endl;
    return 1;
  }
}
