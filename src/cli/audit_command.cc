#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "approval/audit_trail.h"
#include "base/rfc3339.h"
#include "base/run_here.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "cli/tell.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson audit list --config caisson.toml
  caisson audit verify --config caisson.toml
  caisson audit verify --file audit.jsonl       the copy of [audit] file = "audit.jsonl"

Exit status: 0 complete; 1 entries are changed or missing; 2 wrong usage or configuration.)";

constexpr std::uint32_t kMostListed = 10'000;

struct AuditFlags {
  StoreFlags store;
  bool json = false;
  std::int64_t after = 0;
  std::string file;
};

Result<std::string> List(const AuditFlags& flags) {
  TRY_ASSIGN(const OpenedStore opened, OpenStoreOf(flags.store));
  TRY_ASSIGN(const std::vector<AuditEntry> entries,
             RunHere(opened.store->audit().Read(opened.owner, flags.after, kMostListed)));
  std::string text;
  for (const AuditEntry& entry : entries) {
    if (flags.json) {
      TRY_ASSIGN(const std::string line, ToAuditLine(opened.owner.str(), entry));
      text += line + "\n";
    } else {
      text += std::to_string(entry.seq) + "  " + ToRfc3339(entry.event.at) + "  " +
              entry.event.kind + "  " + SpellOutDeceptive(entry.event.body) + "\n";
    }
  }
  if (text.empty() && !flags.json) text = "the audit log is empty\n";
  return text;
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error::FromErrno(errno, "cannot read " + path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Error(ErrorCode::kNotFound, "cannot read " + path);
  return text;
}

using Heads = std::map<std::string, AuditHead>;

// Returns the end of each chain, or the place where a chain is broken.
Result<Result<Heads>> Verify(const AuditFlags& flags) {
  if (!flags.file.empty()) {
    TRY_ASSIGN(const std::string text, ReadFile(flags.file));
    return VerifyAuditLines(text);
  }
  TRY_ASSIGN(const OpenedStore opened, OpenStoreOf(flags.store));
  const auto head = RunHere(VerifyAudit(opened.store->audit(), opened.owner));
  if (head) return Result<Heads>(Heads{{opened.owner.str(), *head}});
  if (head.error().code() != ErrorCode::kFailedPrecondition) return head.error();
  return Result<Heads>(head.error());
}

std::string ToText(const Heads& heads) {
  std::string text;
  for (const auto& [owner, head] : heads) {
    text += "whole: " + std::to_string(head.seq) + " entries" +
            (head.hash.empty() ? "" : ", the last one's hash is " + head.hash) + "\n";
  }
  return text.empty() ? "the audit log is empty\n" : text;
}

Result<std::string> ToJsonLine(const Result<Heads>& heads) {
  Dict fields{{{"whole", heads.has_value()}}};
  if (heads) {
    caisson::List chains;
    for (const auto& [owner, head] : *heads) {
      chains.items.emplace_back(
          Dict{{{"owner", owner}, {"entries", head.seq}, {"head", head.hash}}});
    }
    fields.items.emplace_back("chains", std::move(chains));
  } else {
    fields.items.emplace_back("problem", heads.error().message());
  }
  TRY_ASSIGN(const std::string json, ToJson(Value(std::move(fields))));
  return json + "\n";
}

int RunVerify(const AuditFlags& flags) {
  const auto verified = Verify(flags);
  if (!verified) return Tell(verified.error());
  const Result<Heads>& heads = *verified;
  if (!heads) Output::Stderr().Write("caisson: " + heads.error().message() + "\n");
  const int status = flags.json ? Tell(ToJsonLine(heads))
                     : heads    ? Tell(ToText(*heads))
                                : kExitCompleted;
  return status == kExitCompleted && !heads ? kExitCodeFailed : status;
}

}  // namespace

void AddAuditCommand(Command program) {
  auto flags = std::make_shared<AuditFlags>();  // Shared by the parser and the callbacks.
  Command command = program.AddSubcommand(
      "audit", "List who decided what, and verify that nobody changed the log");
  command.SetFooter(kExamples);
  command.RequireSubcommand();
  Command list = command.AddSubcommand("list", "List the entries, oldest first");
  list.AddOption("--after", flags->after, "List only entries after this number",
                 {.value = "NUMBER"});
  list.OnChosen([flags] { return Tell(List(*flags)); });
  Command verify = command.AddSubcommand("verify", "Check that no entry is changed or missing");
  verify.AddOption("--file", flags->file, "Verify this copy instead of the store",
                   {.value = "FILE"});
  verify.OnChosen([flags] { return RunVerify(*flags); });
  for (Command sub : {list, verify}) {
    AddStoreFlags(sub, flags->store);
    sub.AddFlag("--json", flags->json, "Print JSON, one line for each entry");
  }
}

}  // namespace caisson::cli
