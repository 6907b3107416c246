// A host with an agent that dies at a given step.
//
//   crash_turns_host STORE KEYS EFFECTS WINDOW
//
// Has a turn that waits for an approval, and a turn that gives it; continues what others have left.
// Dies in WINDOW, or prints the end of the last turn. The tools append a line to EFFECTS for each
// real effect.
#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <iostream>

#include "agent/stored_turns.h"
#include "agent/testing/scripted_model.h"
#include "jail/testing/namespaces.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "tests/durable/killing_store.h"
#include "tests/durable/test_host.h"
#include "tests/durable/windows.h"
#include "tests/integration/engines.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Store> OpenByUrl(const std::string& url) {
  auto store = url.starts_with("sqlite:") ? OpenSqliteStore({.path = url.substr(7)})
                                          : OpenPostgresStore({.url = url});
  if (!store) throw std::runtime_error(store.error().message());
  return *std::move(store);
}

std::shared_ptr<const Tool> Effect(const std::string& file, std::string name, Approval approval) {
  return *Tool::Make({.name = std::move(name),
                      .input_schema = Dict{{{"properties", Dict{{{"text", Dict{}}}}}}},
                      .approval = std::move(approval)},
                     Awaitable([file](Dict given) -> asio::awaitable<Result<Value>> {
                       PassStep("effect:before");
                       const std::string line = *given.Find("text")->If<std::string>() + "\n";
                       const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
                       if (::write(fd, line.data(), line.size()) < 0) std::abort();
                       ::close(fd);
                       PassStep("effect:after");
                       co_return Value(std::string("done"));
                     }));
}

// Says the same whenever it is shown the same: the code first, then the last note, then a text.
ScriptedReply Answer(const model::ModelRequest& request) {
  PassStep("model:asked");
  bool has_code = false;
  bool has_last = false;
  for (const model::Item& item : request.items) {
    const auto* call = std::get_if<model::ToolCallItem>(&item);
    if (call == nullptr) continue;
    has_code = true;
    if (call->arguments.find("last") != std::string::npos) has_last = true;
  }
  if (!has_code) {
    return CallsOf(
        {{"a", "execute_code", R"json({"code": "note(text='first')"})json"},
         {"b", "execute_code", R"json({"code": "send(text='asked')\nnote(text='after')"})json"}});
  }
  if (!has_last) return CallOf("execute_code", R"json({"code": "note(text='last')"})json", "c");
  return TextOf("All is done.");
}

// Ends the process at once: the turns and runs that are under way would keep the event loop alive.
[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "crash_turns_host: " << what << std::endl;
  std::_Exit(1);
}

class Player {
 public:
  Player(Host& host, StoredTurns& turns) : host_(host), turns_(turns) {}

  // Returns the turn when it has ended; begins it if nobody has.
  TurnView Finished(const ResponseId& id, TurnSpec spec) {
    spec.id = id;
    spec.agent = "a";
    if (!host_.Now(turns_.Find(ann_, id))) {
      const auto begun = host_.Now(turns_.StartDetached(ann_, std::move(spec)));
      if (!begun) Fail(begun.error().message());
    }
    while (true) {
      auto view = host_.Now(turns_.Find(ann_, id));
      if (!view) Fail(view.error().message());
      if (HasEnded(view->state)) return *std::move(view);
      host_.Now(Pause());
    }
  }

 private:
  static asio::awaitable<void> Pause() {
    asio::steady_timer soon(co_await asio::this_coro::executor, 10ms);
    co_await soon.async_wait(asio::use_awaitable);
  }

  Host& host_;
  StoredTurns& turns_;
  const IsolationKey ann_{*Identity::Create({.user = "ann"})};
};

std::vector<TurnItem> AnswersTo(const TurnView& view) {
  std::vector<TurnItem> answers;
  for (const TurnItem& item : view.output) {
    const auto* request = std::get_if<ApprovalRequest>(&item.content);
    if (request == nullptr) continue;
    answers.push_back(
        {.id = "", .content = ApprovalAnswer{.approval = request->approval, .approve = true}});
  }
  return answers;
}

int Main(const std::string& url, const std::string& keys_file, const std::string& effects,
         const std::string& window) {
  auto keys = KeyRing::LoadOrCreate(keys_file);
  if (!keys) throw std::runtime_error(keys.error().message());
  CodeSetting setting;
  setting.tools = std::make_shared<const ToolSet>(
      std::vector{Effect(effects, "note", {}), Effect(effects, "send", Approval::Always())});
  const auto shared = std::make_shared<const CodeSetting>(std::move(setting));
  const auto model = std::make_shared<ScriptedModel>();
  model->AnswerWith(Answer);
  const auto agent = std::make_shared<const Agent>(
      Agent{.name = "a", .model = model, .code = Agent::Code::kOn, .setting = shared});
  const jail::Tier tier =
      jail::ErrorOfNamespaces() == 0 ? jail::Tier::kNamespace : jail::Tier::kLandlock;
  Host host(StartEngine(EngineKind::kWasm, {.tier = tier}), MakeKillingStore(OpenByUrl(url)), *keys,
            shared, {.lease = 1s, .poll = 20ms}, {{"agent:a", shared}});
  StoredTurns turns({.agents = {agent},
                     .runs = host.runs(),
                     .store = host.store(),
                     .executor = host.executor(),
                     .settings = {.lease = 1s, .poll = 20ms}});
  SetWindow(window, Victim::kHost);
  host.runs().Tend();
  turns.Tend();
  Player player(host, turns);
  const TurnItem question{
      .id = "",
      .content = model::MessageItem{.role = model::Role::kUser, .parts = {model::TextPart{"go"}}}};
  TurnView view = player.Finished(ResponseId("resp_1"), {.agent = "a", .input = {question}});
  if (view.state == TurnState::kWaiting) {
    const auto answers = AnswersTo(view);
    view = player.Finished(ResponseId("resp_2"),
                           {.agent = "a", .input = answers, .previous = ResponseId("resp_1")});
  }
  std::cout << (view.state == TurnState::kCompleted ? "completed" : "not completed") << "\n"
            << view.error << "\n";
  for (const TurnItem& item : view.output) {
    if (const auto* code = std::get_if<CodeCall>(&item.content)) std::cout << code->logs << "\n";
  }
  std::cout << std::flush;
  host.Now(turns.Close());
  return 0;
}

}  // namespace
}  // namespace caisson::testing

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    return caisson::testing::Main(argv[1], argv[2], argv[3], argv[4]);
  } catch (const std::exception& thrown) {
    std::cerr << "crash_turns_host: " << thrown.what() << std::endl;
    return 1;
  }
}
