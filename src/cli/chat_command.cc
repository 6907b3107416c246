#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/closest.h"
#include "base/guarded.h"
#include "base/run_here.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "cli/tell.h"
#include "cli/terminal_question.h"
#include "cli/turn_display.h"
#include "identity/local_resolver.h"
#include "runs/door_caller.h"
#include "server/demo.h"
#include "server/host.h"
#include "server/single_turn.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson chat --demo                           with a scripted agent, to try it
  caisson chat analyst --config caisson.toml    with an agent of a configuration
  caisson chat analyst < questions.txt          one line is one turn
  caisson chat --demo --json < questions.txt    each event as one line of JSON

What the agent says goes to stdout; the code that it runs, its output and its calls to stderr. A
call that needs approval is asked about at the terminal; without a terminal it is denied. Ctrl-C
ends the turn and keeps the chat; Ctrl-D ends the chat.
Exit status: 0 every turn was answered; 1 a turn failed or hit a limit; 2 wrong usage or
configuration; 70 an internal error.)";

struct ChatFlags {
  std::string agent;
  bool demo = false;
  bool json = false;
  CodeFlags code;
};

// The work that an interrupt ends.
struct Running {
  SingleTurn* turn = nullptr;  // Null while a question is open.
  TerminalQuestion& question;
};

class ChatCommand {
 public:
  explicit ChatCommand(const ChatFlags& flags) : flags_(flags) {}

  int Execute() {
    if (auto ready = Prepare(); !ready) return Fail(ready.error());
    while (!ended_) {
      if (prompts_) out_.Write("> ");
      auto line = reader_->Read();
      if (const auto* end = std::get_if<LineReader::End>(&line)) {
        if (*end == LineReader::End::kOfInput) break;
        if (prompts_) out_.Write("\n");  // Ctrl-C: begin again.
        continue;
      }
      Answer(std::get<std::string>(line));
    }
    if (prompts_) out_.Write("\n");
    return AfterWriting(out_, status_);
  }

 private:
  Result<void> Prepare();
  Result<void> ChooseAgent();
  void Answer(std::string line);
  // Returns nullopt if the chat ends.
  std::optional<TurnView> Perform(std::vector<TurnItem> input, Running& running);
  // Returns the answers to what the turn waits for; empty: there are none.
  std::vector<TurnItem> Decide(const TurnView& turn, const TerminalQuestion& question);
  std::optional<caisson::Answer> DecideOne(const ApprovalId& id, const TerminalQuestion& question);
  void Show(const TurnEvent& event);
  void OnSignal(int signal);
  int Fail(const Error& error);

  const ChatFlags& flags_;
  Output out_ = Output::Stdout();
  Output err_ = Output::Stderr();
  const bool prompts_ = ::isatty(STDIN_FILENO) == 1 && !flags_.json;
  TurnDisplay display_{out_, err_};
  std::optional<LineReader> reader_;
  Approvals approvals_ = Approvals::kAsk;
  std::unique_ptr<Host> host_;
  const IsolationKey owner_{LocalIdentity()};
  std::string agent_;
  std::optional<ResponseId> previous_;
  int status_ = kExitCompleted;
  std::atomic<bool> ended_ = false;
  Guarded<Running*> running_{nullptr};
  Interrupts interrupts_;  // Goes first: it uses what is above.
};

Result<void> ChatCommand::Prepare() {
  Config config;
  if (!flags_.code.config.empty()) {
    TRY_ASSIGN(config, LoadConfig(flags_.code.config));
  }
  if (!config.store.is_configured) config.store.url = "memory:";
  if (flags_.demo) TRY(AddDemo(config));
  TRY_ASSIGN(CodeServiceOptions code, ToServiceOptions(flags_.code, config));
  if (flags_.demo) {
    TRY_ASSIGN(auto tools, DemoTools());
    code.setting.tools = std::make_shared<const ToolSet>(std::move(tools));
  }
  TRY_ASSIGN(reader_, LineReader::Make());
  TRY_ASSIGN(approvals_, ToApprovals(flags_.code));
  TRY(interrupts_.ListenAlways([this](int signal) { OnSignal(signal); }));
  TRY_ASSIGN(host_, Host::Open({.config = std::move(config),
                                .code = std::move(code),
                                .environment = CaptureEnvironment(),
                                .serves = HostOptions::Serves::kRunsAndAgents}));
  TRY(ChooseAgent());
  if (prompts_) out_.Write("You talk to the agent \"" + agent_ + "\". Ctrl-D ends the chat.\n");
  return {};
}

Result<void> ChatCommand::ChooseAgent() {
  const std::vector<AgentInfo> agents = host_->turns().Agents();
  if (agents.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 "there is no agent; add an [[agent]] to the configuration and name the file with "
                 "--config, or try --demo");
  }
  if (flags_.agent.empty() && agents.size() == 1) {
    agent_ = agents.front().name;
    return {};
  }
  std::vector<std::string_view> names;
  std::string list;
  for (const AgentInfo& agent : agents) {
    if (agent.name == flags_.agent) agent_ = agent.name;
    names.push_back(agent.name);
    list.append(list.empty() ? "" : ", ").append(agent.name);
  }
  if (!agent_.empty()) return {};
  const std::string what = flags_.agent.empty() ? "name the agent to talk to"
                                                : "there is no agent \"" + flags_.agent + "\"" +
                                                      DidYouMean(flags_.agent, names);
  return Error(ErrorCode::kInvalidArgument, what + "; the agents are " + list);
}

void ChatCommand::OnSignal(int signal) {
  if (signal != SIGINT) ended_ = true;
  auto running = running_.Lock();
  if (*running != nullptr) {
    if ((*running)->turn != nullptr) (*running)->turn->Cancel();
    (*running)->question.GiveUp();
  } else {
    if (!prompts_) ended_ = true;  // A script is interrupted as a whole.
    reader_->Wake();
  }
}

void ChatCommand::Answer(std::string line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
  if (line.find_first_not_of(" \t") == std::string::npos) return;
  std::vector<TurnItem> input{{.id = "",
                               .content = model::MessageItem{.role = model::Role::kUser,
                                                             .parts = {model::TextPart{line}}}}};
  auto question = TerminalQuestion::Make();
  if (!question) {
    ended_ = true;
    status_ = Fail(question.error());
    return;
  }
  Running running{.question = *question};
  *running_.Lock() = &running;
  while (!input.empty() && !ended_) {
    const auto turn = Perform(std::move(input), running);
    if (!turn) break;
    input = Decide(*turn, *question);
  }
  *running_.Lock() = nullptr;
}

std::optional<TurnView> ChatCommand::Perform(std::vector<TurnItem> input, Running& running) {
  SingleTurn turn(host_->turns(), owner_);
  const auto set_turn = [&](SingleTurn* current) {
    const auto lock = running_.Lock();
    running.turn = current;
  };
  set_turn(&turn);
  const auto done = turn.Perform({.agent = agent_,
                                  .input = std::move(input),
                                  .previous = previous_,
                                  .answered_by = CurrentUser(),
                                  .caller = std::make_shared<const CallerContext>(
                                      LocalCaller(host_->code().caller_host(), "cli"))},
                                 [&](const TurnEvent& event) {
                                   Show(event);
                                   if (out_.failed() != 0) turn.Cancel();
                                 });
  set_turn(nullptr);
  if (out_.failed() != 0) ended_ = true;
  if (!done) {
    if (done.error().code() != ErrorCode::kCancelled) status_ = Fail(done.error());
    return std::nullopt;
  }
  previous_ = done->id;
  if (flags_.json) {
    out_.Write(ToJsonLine(*done));
  } else {
    display_.ShowEnding(*done);
  }
  if (done->state == TurnState::kFailed || done->state == TurnState::kIncomplete) {
    status_ = kExitCodeFailed;
  }
  return *done;
}

void ChatCommand::Show(const TurnEvent& event) {
  if (flags_.json) {
    out_.Write(ToJsonLine(event));
  } else {
    display_.Show(event);
  }
}

std::vector<TurnItem> ChatCommand::Decide(const TurnView& turn, const TerminalQuestion& question) {
  std::vector<TurnItem> answers;
  if (turn.state != TurnState::kWaiting) return answers;
  for (const TurnItem& item : turn.output) {
    const auto* asked = std::get_if<ApprovalRequest>(&item.content);
    if (asked == nullptr) continue;
    const auto answer = DecideOne(asked->approval, question);
    if (!answer) return {};
    answers.push_back(
        {.id = "",
         .content = ApprovalAnswer{.approval = asked->approval,
                                   .approve = answer->verdict == ApprovalState::kApproved,
                                   .reason = answer->reason}});
  }
  return answers;
}

std::optional<caisson::Answer> ChatCommand::DecideOne(const ApprovalId& id,
                                                      const TerminalQuestion& question) {
  if (approvals_ == Approvals::kAll) {
    return caisson::Answer{.verdict = ApprovalState::kApproved, .by = CurrentUser()};
  }
  if (approvals_ == Approvals::kNone) {
    return caisson::Answer{.by = CurrentUser(), .reason = "denied by --approve none"};
  }
  const auto asked = RunHere(host_->runs().FindApproval(owner_, id));
  if (asked) return question.Ask(*asked);
  status_ = Fail(asked.error());
  return std::nullopt;
}

int ChatCommand::Fail(const Error& error) {
  err_.FinishLine();
  err_.Write("caisson: " + error.message() + "\n");
  return ExitStatus(error.code());
}

}  // namespace

void AddChatCommand(Command program) {
  auto flags = std::make_shared<ChatFlags>();  // Shared by the parser and the callback.
  Command command = program.AddSubcommand("chat", "Talk to an agent at the terminal");
  command.SetFooter(kExamples);
  command.AddOption("agent", flags->agent, "The agent; not needed if there is only one",
                    {.value = "AGENT"});
  command.AddOption("--config", flags->code.config, "A configuration file with agents",
                    {.value = "FILE"});
  command.AddFlag("--demo", flags->demo, "Add a scripted agent with two harmless tools");
  command.AddFlag("--json", flags->json, "Print each event as one line of JSON");
  AddTierFlag(command, flags->code.tier);
  AddApproveFlag(command, flags->code);
  command.AddOption("--worker-dir", flags->code.worker_directory, "For tests", {.hidden = true});
  command.OnChosen([flags] { return ChatCommand(*flags).Execute(); });
}

}  // namespace caisson::cli
