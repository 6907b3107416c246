#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "approval/desk.h"
#include "approval/presentation.h"
#include "base/rfc3339.h"
#include "base/run_here.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/store_flags.h"
#include "cli/tell.h"
#include "server/host.h"
#include "wire/json.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson approvals list --config caisson.toml
  caisson approvals show apr_…
  caisson approvals approve apr_… --reason "looked at it"
  caisson approvals approve apr_… --always --any-arguments    and every later call of this tool
  caisson approvals approve apr_… --arguments '{"amount": 50}'  with one argument changed
  caisson approvals deny apr_… --reason "wrong account"
  caisson approvals grants                                    approvals of later calls
  caisson approvals revoke grt_…

Exit status: 0 done; 2 no such approval or grant, already decided differently, wrong usage or
configuration.)";

constexpr std::size_t kShownInLists = 200;

struct ApprovalsFlags {
  StoreFlags store;
  bool json = false;
  bool all = false;
  std::string state;
  std::string after;
  std::string id;
  std::string reason;
  bool session = false;
  bool always = false;
  bool any_arguments = false;
  std::string arguments;
};

std::string Indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    text.append("    ").append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return text;
}

std::string Headline(const StoredApproval& approval) {
  const NewApproval& asked = approval.asked;
  return asked.id.str() + "  " + std::string(ToString(approval.state)) + "  " +
         SpellOutDeceptive(asked.binding.tool) + "  expires " + ToRfc3339(asked.expires_at) + "\n";
}

// Arguments that do not match their hash are not shown, so that nobody decides about them (I5).
std::string Arguments(const StoredApproval& approval, std::size_t shown_bytes) {
  const auto shown = Present(approval.asked, shown_bytes);
  return Indented(shown ? ToText(*shown) : shown.error().message() + "\n");
}

std::string Details(const StoredApproval& approval) {
  const NewApproval& asked = approval.asked;
  std::string text = Headline(approval) + "  call " + std::to_string(asked.binding.seq) + " of " +
                     SpellOutDeceptive(asked.binding.run.str()) + ", asked " +
                     ToRfc3339(asked.created_at) + "\n  arguments (SHA-256 " +
                     asked.binding.arguments_digest + ")\n" + Arguments(approval, kShownBytes);
  if (approval.decision && approval.decision->edited) {
    const EditedArguments& edited = *approval.decision->edited;
    NewApproval changed = asked;
    changed.arguments = edited.text;
    changed.binding.arguments_digest = edited.digest;
    text += "  changed to (SHA-256 " + edited.digest + ")\n" +
            Arguments({.asked = std::move(changed)}, kShownBytes);
  }
  if (approval.decision) {
    text +=
        "  " + std::string(ToString(approval.decision->verdict)) + " by " +
        SpellOutDeceptive(approval.decision->by) + " at " + ToRfc3339(approval.decision->at) +
        (approval.decision->reason.empty() ? ""
                                           : ": " + SpellOutDeceptive(approval.decision->reason)) +
        "\n";
  }
  return text;
}

std::string ToText(const Grant& grant) {
  return grant.id.str() + "  " + grant.scope + "  " + SpellOutDeceptive(grant.tool) + "  " +
         SpellOutDeceptive(grant.pattern) + "  by " + SpellOutDeceptive(grant.granted_by) + " at " +
         ToRfc3339(grant.granted_at) + "\n";
}

std::string JsonList(const std::vector<std::string>& items,
                     const std::optional<std::string>& next) {
  std::string text = "{\"items\":[";
  for (const std::string& item : items) text.append(&item == items.data() ? "" : ",").append(item);
  return text + "],\"next\":" + (next ? "\"" + *next + "\"" : "null") + "}\n";
}

// The actions on one open store. Each returns the text to print.
class Approvals {
 public:
  Approvals(const ApprovalsFlags& flags, OpenedStore& opened)
      : flags_(flags), opened_(opened), desk_(*opened.store, notifier_, clock_) {}

  Result<std::string> List() {
    TRY_ASSIGN(const auto state, ListedState());
    PageQuery query;
    if (!flags_.after.empty()) query.after = flags_.after;
    TRY_ASSIGN(const Page<StoredApproval> page,
               RunHere(opened_.store->approvals().List(opened_.owner, state, query)));
    if (flags_.json) {
      std::vector<std::string> items;
      for (const StoredApproval& approval : page.items) {
        items.push_back(caisson::ToJson(approval));
      }
      return JsonList(items, page.next);
    }
    std::string text;
    for (const StoredApproval& approval : page.items) {
      text += Headline(approval);
      text += approval.arguments_omitted
                  ? "    arguments too long for a list: caisson approvals show " +
                        approval.asked.id.str() + "\n"
                  : Arguments(approval, kShownInLists);
    }
    if (text.empty())
      return std::string(state == ApprovalState::kPending ? "no approvals are waiting\n"
                                                          : "no approvals\n");
    return page.next ? text + "more with --after " + *page.next + "\n" : text;
  }

  Result<std::string> Show() {
    TRY_ASSIGN(const StoredApproval approval,
               RunHere(opened_.store->approvals().Find(opened_.owner, ApprovalId(flags_.id))));
    return Print(approval);
  }

  Result<std::string> Approve() {
    std::optional<StandingYes> standing;
    if (flags_.session || flags_.always) {
      using enum StandingYes::Scope;
      using enum StandingYes::Arguments;
      standing = StandingYes{.scope = flags_.always ? kAlways : kSession,
                             .arguments = flags_.any_arguments ? kAny : kThese};
    } else if (flags_.any_arguments) {
      return Error(ErrorCode::kInvalidArgument, "--any-arguments needs --session or --always");
    }
    return Decide(ApprovalState::kApproved, std::move(standing));
  }
  Result<std::string> Deny() { return Decide(ApprovalState::kDenied, std::nullopt); }

  Result<std::string> Grants() {
    TRY_ASSIGN(const std::vector<Grant> grants, RunHere(desk_.Grants(opened_.owner)));
    std::string text;
    std::vector<std::string> items;
    for (const Grant& grant : grants) {
      items.push_back(caisson::ToJson(grant));
      text += ToText(grant);
    }
    if (flags_.json) return JsonList(items, std::nullopt);
    return text.empty() ? std::string("no grants\n") : text;
  }

  Result<std::string> Revoke() {
    TRY(RunHere(desk_.Revoke(opened_.owner, GrantId(flags_.id), CurrentUser())));
    return flags_.json ? "{\"revoked\":\"" + flags_.id + "\"}\n" : "revoked " + flags_.id + "\n";
  }

 private:
  // nullopt: all states.
  Result<std::optional<ApprovalState>> ListedState() const {
    if (flags_.all) return std::optional<ApprovalState>();
    if (flags_.state.empty()) return std::optional(ApprovalState::kPending);
    std::string names;
    for (const ApprovalState state : kApprovalStates) {
      if (ToString(state) == flags_.state) return std::optional(state);
      names.append(names.empty() ? "" : ", ").append(ToString(state));
    }
    return Error(ErrorCode::kInvalidArgument,
                 "--state \"" + flags_.state + "\": it must be one of " + names);
  }

  Result<std::string> Decide(ApprovalState verdict, std::optional<StandingYes> standing) {
    Answer answer{.verdict = verdict,
                  .by = CurrentUser(),
                  .reason = flags_.reason,
                  .standing = std::move(standing)};
    std::shared_ptr<const Tool> tool;
    if (!flags_.arguments.empty()) {
      TRY_ASSIGN(answer.changes, ParseChanges());
      TRY_ASSIGN(tool, FindTool());
    }
    TRY_ASSIGN(const StoredApproval approval,
               RunHere(desk_.Decide(opened_.owner, ApprovalId(flags_.id), std::move(answer),
                                    std::move(tool))));
    return Print(approval);
  }

  Result<Dict> ParseChanges() const {
    auto value = ParseJson(flags_.arguments);
    if (!value) return std::move(value).error().Context("--arguments");
    const auto* changes = value->If<Dict>();
    if (changes != nullptr) return *changes;
    return Error(ErrorCode::kInvalidArgument,
                 "--arguments must be a JSON object, such as '{\"amount\": 50}'");
  }

  // Starts the tools of the configuration: the tool says whether it accepts the changes.
  Result<std::shared_ptr<const Tool>> FindTool() const {
    TRY_ASSIGN(const auto host, Host::Open({.config = opened_.config,
                                            .code = FromConfig(opened_.config),
                                            .environment = CaptureEnvironment()}));
    return RunHere(host->runs().FindTool(opened_.owner, ApprovalId(flags_.id)));
  }

  std::string Print(const StoredApproval& approval) {
    return flags_.json ? caisson::ToJson(approval) + "\n" : Details(approval);
  }

  const ApprovalsFlags& flags_;
  OpenedStore& opened_;
  DecisionNotifier notifier_;  // Unused: waiting processes read the store.
  SystemClock clock_;
  ApprovalDesk desk_;
};

using Action = Result<std::string> (Approvals::*)();

Result<std::string> Perform(const ApprovalsFlags& flags, Action action) {
  TRY_ASSIGN(OpenedStore opened, OpenStoreOf(flags.store));
  return (Approvals(flags, opened).*action)();
}

}  // namespace

void AddApprovalsCommand(Command program) {
  auto flags = std::make_shared<ApprovalsFlags>();  // Shared by the parser and the callbacks.
  Command command = program.AddSubcommand(
      "approvals", "List the calls that wait for an approval, and decide them");
  command.SetFooter(kExamples);
  command.RequireSubcommand();
  const auto add = [&](const char* name, const char* what, Action action) {
    Command sub = command.AddSubcommand(name, what);
    AddStoreFlags(sub, flags->store);
    sub.AddFlag("--json", flags->json, "Print one line of JSON");
    sub.OnChosen([flags, action] { return Tell(Perform(*flags, action)); });
    return sub;
  };
  const auto add_with_id = [&](const char* name, const char* what, Action action) {
    Command sub = add(name, what, action);
    sub.AddOption("ID", flags->id, "An id that `list` or `grants` shows", {.required = true});
    return sub;
  };
  Command list = add("list", "List open approvals, newest first", &Approvals::List);
  list.AddFlag("--all", flags->all, "List decided and expired approvals too");
  list.AddOption("--state", flags->state,
                 "List only approvals in this state: pending, approved (not used yet), consumed "
                 "(approved, and the call was started), denied, expired or cancelled",
                 {.value = "STATE", .excludes = "--all"});
  list.AddOption("--after", flags->after, "List the page after this id", {.value = "ID"});
  add_with_id("show", "Show one approval with all arguments of the call", &Approvals::Show);
  Command approve = add_with_id("approve", "Approve the call", &Approvals::Approve);
  Command deny = add_with_id("deny", "Deny the call", &Approvals::Deny);
  for (Command decision : {approve, deny}) {
    decision.AddOption("--reason", flags->reason, "The reason, for the audit log",
                       {.value = "TEXT"});
  }
  approve.AddFlag("--session", flags->session,
                  "Also approve later calls with the same arguments in this session");
  approve.AddFlag("--always", flags->always, "Also approve all later calls with the same arguments",
                  {.excludes = "--session"});
  approve.AddFlag(
      "--any-arguments", flags->any_arguments,
      "With --session or --always: approve later calls of this tool with any arguments");
  approve.AddOption("--arguments", flags->arguments,
                    "Change arguments before the call is executed: a JSON object with the names "
                    "and new values. The types must stay the same",
                    {.value = "JSON"});
  add("grants", "List the grants: approvals of later calls", &Approvals::Grants);
  add_with_id("revoke", "Revoke a grant", &Approvals::Revoke);
}

}  // namespace caisson::cli
