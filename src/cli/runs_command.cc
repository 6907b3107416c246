#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json_quote.h"
#include "base/rfc3339.h"
#include "base/run_here.h"
#include "base/visible.h"
#include "caller/caller_context.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run_report.h"
#include "cli/store_flags.h"
#include "cli/tell.h"
#include "runs/stored_view.h"
#include "server/host.h"

namespace caisson::cli {
namespace {

constexpr std::chrono::milliseconds kLook{200};

constexpr const char* kExamples = R"(Examples:
  caisson runs list --config caisson.toml --waiting
  caisson runs show run_…                 its calls, its approvals, its end
  caisson runs resume run_… --output results

`resume` continues a run that no other process holds. It prints the whole run as `caisson run` does:
all its output, its value and its files. It prints a run that has ended in another process, too.

Exit status: 0 done; 1 the run failed; 2 no such run, wrong usage or configuration; 3 the run waits
for an approval.)";

struct RunsFlags {
  StoreFlags store;
  ReportFlags report;  // For `resume`; other commands use only --json.
  bool waiting = false;
  std::string after;
  std::string id;
  std::string tier;  // For `resume`.
};

std::string_view Word(const RunView& view) {
  return view.state == RunState::kFinished ? ToString(view.outcome.status) : ToString(view.state);
}

std::string Headline(const RunView& view) {
  std::string text = view.id.str() + "  " + std::string(Word(view)) + "  " +
                     ToRfc3339(view.created_at) + "  calls " +
                     std::to_string(view.outcome.calls.size());
  if (view.saved_bytes > 0) text += "  saved " + std::to_string(view.saved_bytes) + " bytes";
  return text + "\n";
}

std::string Details(const RunView& view) {
  std::string text = Headline(view);
  if (!view.saved_build.empty()) {
    text += "  can be restored by workers of build " + SpellOutDeceptive(view.saved_build) +
            "; other builds replay it\n";
  }
  for (const OutcomeCall& call : view.outcome.calls) {
    text += "  call " + std::to_string(call.seq) + "  " + SpellOutDeceptive(call.tool) + "  " +
            call.outcome + "\n";
  }
  for (const OutcomeApproval& approval : view.outcome.approvals) {
    text += "  waits for " + approval.id + " until " + approval.expires_at + "\n";
  }
  if (view.outcome.error) {
    text += "  " + SpellOutDeceptive(view.outcome.error->type) + ": " +
            SpellOutDeceptive(view.outcome.error->message) + "\n";
  }
  return text;
}

std::string Json(const RunView& view) {
  return "{\"id\":\"" + view.id.str() + "\",\"state\":\"" + std::string(ToString(view.state)) +
         "\",\"created_at\":\"" + ToRfc3339(view.created_at) +
         "\",\"saved_bytes\":" + std::to_string(view.saved_bytes) +
         ",\"saved_build\":" + (view.saved_build.empty() ? "null" : JsonQuoted(view.saved_build)) +
         ",\"outcome\":" + ToJson(view.outcome, FileData::kOmit) + "}";
}

Result<std::string> List(const RunsFlags& flags) {
  TRY_ASSIGN(OpenedStore opened, OpenStoreOf(flags.store));
  PageQuery query;
  if (!flags.after.empty()) query.after = flags.after;
  const auto state = flags.waiting ? std::optional(RunState::kWaiting) : std::nullopt;
  TRY_ASSIGN(const Page<ListedRun> page,
             RunHere(opened.store->runs().List(opened.owner, state, query)));
  std::string text;
  for (const ListedRun& listed : page.items) {
    TRY_ASSIGN(StoredRun run, RunHere(opened.store->runs().Find(opened.owner, listed.id)));
    TRY_ASSIGN(const RunView view,
               RunHere(ViewStored(*opened.store, opened.owner, std::move(run))));
    text += flags.report.json ? Json(view) + "\n" : Headline(view);
  }
  if (flags.report.json) return text;
  if (text.empty()) text = "no runs\n";
  if (page.next) text += "more with --after " + *page.next + "\n";
  return text;
}

Result<std::string> Show(const RunsFlags& flags) {
  TRY_ASSIGN(OpenedStore opened, OpenStoreOf(flags.store));
  TRY_ASSIGN(StoredRun run, RunHere(opened.store->runs().Find(opened.owner, RunId(flags.id))));
  TRY_ASSIGN(const RunView view, RunHere(ViewStored(*opened.store, opened.owner, std::move(run))));
  return flags.report.json ? Json(view) + "\n" : Details(view);
}

asio::awaitable<Result<RunView>> ResumeAndWait(JournaledRuns& runs, IsolationKey owner, RunId id) {
  auto resumed = co_await runs.Resume(owner, id);
  if (!resumed) co_return std::move(resumed).error();
  while (true) {
    auto view = co_await runs.Await(owner, id, {}, std::chrono::steady_clock::now() + kLook);
    if (!view || view->state != RunState::kRunning) co_return view;
  }
}

// Returns whether all approvals of the run are still open and the code waits for them. Such a run
// cannot continue yet.
bool WaitsForAll(const RunView& view) {
  const auto pending = std::ranges::count(view.outcome.calls, "pending", &OutcomeCall::outcome);
  const bool timed_out = view.wake_at && *view.wake_at <= std::chrono::system_clock::now();
  return view.state == RunState::kWaiting && !timed_out &&
         static_cast<std::size_t>(pending) == view.outcome.approvals.size();
}

Result<RunView> WithStoredFiles(Store& store, const IsolationKey& owner, RunView view) {
  const RunId id = view.id;
  return RunHere(WithFiles(std::move(view), [&](std::uint32_t number) {
    return store.runs().LoadFile(owner, id, number);
  }));
}

// Sets `most` to the limits that a run can ask for.
Result<RunView> GoOn(const RunsFlags& flags, Limits& most) {
  TRY_ASSIGN(OpenedStore opened, OpenStoreOf(flags.store));
  most = opened.config.max_limits;
  const IsolationKey owner = opened.owner;
  TRY_ASSIGN(StoredRun run, RunHere(opened.store->runs().Find(owner, RunId(flags.id))));
  TRY_ASSIGN(RunView now, RunHere(ViewStored(*opened.store, owner, std::move(run))));
  if (now.state == RunState::kFinished || WaitsForAll(now)) {
    return WithStoredFiles(*opened.store, owner, std::move(now));
  }
  opened.store.reset();
  CodeServiceOptions options = FromConfig(opened.config);
  if (!flags.tier.empty()) options.backend.tier = flags.tier;
  TRY_ASSIGN(const auto host, Host::Open({.config = opened.config,
                                          .code = std::move(options),
                                          .environment = CaptureEnvironment()}));
  auto view = RunHere(ResumeAndWait(host->runs(), owner, RunId(flags.id)));
  if (!view) return std::move(view).error();
  return WithStoredFiles(host->state().store(), owner, *std::move(view));
}

int Resume(const RunsFlags& flags) {
  const auto report = RunReport::Open(flags.report, flags.store);
  if (!report) return Tell(report.error());
  ReportedLimits limits;
  const auto view = GoOn(flags, limits.most);
  if (!view) return Tell(view.error());
  Output out = Output::Stdout();
  Output err = Output::Stderr();
  if (!flags.report.json) {
    out.WriteGuest(view->outcome.stdout_text);
    err.WriteGuest(view->outcome.stderr_text);
  }
  limits.given = view->limits;
  return report->Tell(view->outcome, limits, out, err);
}

}  // namespace

void AddRunsCommand(Command program) {
  auto flags = std::make_shared<RunsFlags>();  // Shared by the parser and the callbacks.
  Command command = program.AddSubcommand("runs", "List stored runs, and resume one");
  command.SetFooter(kExamples);
  command.RequireSubcommand();
  const auto add = [&](const char* name, const char* what,
                       Result<std::string> (*action)(const RunsFlags&)) {
    Command sub = command.AddSubcommand(name, what);
    AddStoreFlags(sub, flags->store);
    sub.AddFlag("--json", flags->report.json, "Print one line of JSON for each run");
    sub.OnChosen([flags, action] { return Tell(action(*flags)); });
    return sub;
  };
  Command list = add("list", "Newest first", List);
  list.AddFlag("--waiting", flags->waiting, "List only runs that wait for an approval");
  list.AddOption("--after", flags->after, "List the page after this id", {.value = "ID"});
  Command show = add("show", "Show one run: its calls, its approvals and how it ended", Show);
  Command resume =
      command.AddSubcommand("resume", "Resume a run until it finishes or needs an approval");
  AddStoreFlags(resume, flags->store);
  AddReportFlags(resume, flags->report);
  AddTierFlag(resume, flags->tier);
  resume.OnChosen([flags] { return Resume(*flags); });
  for (Command one : {show, resume})
    one.AddOption("ID", flags->id, "An id that `list` shows", {.required = true});
}

}  // namespace caisson::cli
