#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/guarded.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/run_report.h"
#include "cli/statement.h"
#include "cli/tell.h"
#include "cli/terminal_question.h"
#include "engine/outcome.h"
#include "identity/local_resolver.h"
#include "runs/door_caller.h"
#include "server/single_run.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson repl
  caisson repl --mount data:/input --limit wall_seconds=60
  caisson repl < steps.py                       statement by statement, in one session

Variables, imports and files stay until the end. An empty line ends a block. Ctrl-C clears what you
have typed, or ends what runs; a run that is ended so, or by a limit, takes the session with it.)";

// What people type to leave a Python session, alone in its line.
bool IsFarewell(std::string_view statement) {
  const std::size_t end = statement.find_last_not_of(" \t\r\n");
  const std::string_view word = statement.substr(0, end == statement.npos ? 0 : end + 1);
  return word == "exit" || word == "exit()" || word == "quit" || word == "quit()";
}

// The work that an interrupt ends.
struct Running {
  SingleRun& run;
  TerminalQuestion& question;
};

// A stateful session: reads statements and runs them, one after the other.
class ReplCommand {
 public:
  explicit ReplCommand(const CodeFlags& flags) : flags_(flags) {}

  int Execute() {
    if (auto ready = Prepare(); !ready) return Fail(ready.error());
    while (!ended_) {
      const auto statement = ReadStatement();
      if (!statement || IsFarewell(*statement)) break;
      if (statement->find_first_not_of(" \t\r\n") != std::string::npos) RunStatement(*statement);
    }
    if (prompts_) out_.Write("\n");
    return AfterWriting(out_, status_);
  }

 private:
  Result<void> Prepare();
  // What is typed up to the end of a statement; nothing when the input ends.
  std::optional<std::string> ReadStatement();
  void RunStatement(const std::string& code);
  void Show(const RunView& run);
  void OnSignal(int signal);
  void End(const Error& error);
  int Fail(const Error& error);

  const CodeFlags& flags_;
  Output out_ = Output::Stdout();
  Output err_ = Output::Stderr();
  const bool prompts_ = ::isatty(STDIN_FILENO) == 1;
  std::optional<LineReader> reader_;
  ReportedLimits limits_;
  Approvals approvals_ = Approvals::kAsk;
  std::unique_ptr<Host> host_;
  const std::string session_ = "repl" + NewRunId().substr(3);  // What tools are told: ours alone.
  int status_ = kExitCompleted;
  std::atomic<bool> ended_ = false;
  Guarded<Running*> running_{nullptr};
  Interrupts interrupts_;  // Goes first: it uses what is above.
};

Result<void> ReplCommand::Prepare() {
  TRY_ASSIGN(CodeServiceOptions options, ToServiceOptions(flags_));
  limits_ = {.given = options.setting.limits, .most = options.setting.ceiling};
  TRY_ASSIGN(reader_, LineReader::Make());
  TRY(interrupts_.ListenAlways([this](int signal) { OnSignal(signal); }));
  TRY_ASSIGN(approvals_, ToApprovals(flags_));
  TRY_ASSIGN(host_, OpenHost(flags_, std::move(options)));
  if (prompts_) out_.Write("A session in a cell. Ctrl-D or exit() ends it.\n");
  return {};
}

void ReplCommand::OnSignal(int signal) {
  if (signal != SIGINT) ended_ = true;
  auto running = running_.Lock();
  if (*running != nullptr) {
    (*running)->run.Cancel();
    (*running)->question.GiveUp();
  } else {
    reader_->Wake();
  }
}

std::optional<std::string> ReplCommand::ReadStatement() {
  std::string text;
  while (!ended_) {
    if (prompts_) out_.Write(text.empty() ? ">>> " : "... ");
    auto line = reader_->Read();
    if (const auto* end = std::get_if<LineReader::End>(&line)) {
      if (*end == LineReader::End::kOfInput) {
        return text.empty() ? std::nullopt : std::optional(std::move(text));
      }
      text.clear();  // Ctrl-C: begin again.
      if (prompts_) out_.Write("\n");
      continue;
    }
    text.append(std::get<std::string>(line));
    if (!NeedsMore(text)) return text;
  }
  return std::nullopt;
}

void ReplCommand::RunStatement(const std::string& code) {
  SingleRun run(host_->runs(), IsolationKey(LocalIdentity()));
  auto question = TerminalQuestion::Make();
  if (!question) return End(question.error());
  Running running{.run = run, .question = *question};
  *running_.Lock() = &running;
  // A session that was lost has been reported when it was.
  const auto done = run.Perform(
      {.code = code,
       .session = session_,
       .restart = Restart::kIfLost,
       .caller = ForRequest(LocalCaller(host_->code().caller_host(), "cli"), {.session = session_}),
       .approvals = approvals_},
      [&](OutputStream stream, std::string_view bytes) {
        (stream == OutputStream::kStdout ? out_ : err_).WriteGuest(bytes);
        if (out_.failed() != 0) run.Cancel();
      },
      [&](const StoredApproval& approval) { return question->Ask(approval); });
  *running_.Lock() = nullptr;
  if (out_.failed() != 0) ended_ = true;
  return done ? Show(*done) : End(done.error());
}

void ReplCommand::Show(const RunView& run) {
  ReportOutcome(run.outcome, limits_, out_, err_);
  out_.FinishLine();
  if (run.session != SessionFate::kLost || ended_) return;
  err_.FinishLine();
  err_.Write("caisson: the session is lost, with its variables and files; a new one begins\n");
}

void ReplCommand::End(const Error& error) {
  status_ = Fail(error);
  ended_ = true;
}

int ReplCommand::Fail(const Error& error) {
  err_.Write("caisson: " + error.message() + "\n");
  return ExitStatus(error.code());
}

}  // namespace

void AddReplCommand(Command program) {
  auto flags = std::make_shared<CodeFlags>();  // Shared by the parser and the callback.
  Command command = program.AddSubcommand(
      "repl", "Run statements in a session at the terminal; variables are kept");
  command.SetFooter(kExamples);
  AddCodeFlags(command, *flags);
  AddApproveFlag(command, *flags);
  command.OnChosen([flags] { return ReplCommand(*flags).Execute(); });
}

}  // namespace caisson::cli
