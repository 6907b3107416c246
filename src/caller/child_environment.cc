#include "caller/child_environment.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace caisson {
namespace {

// The kernel refuses to start a program with a longer entry (MAX_ARG_STRLEN, including the NUL).
constexpr std::size_t kMaxEntryBytes = 128 * 1024 - 1;

// Words that occur in the names of credentials.
constexpr std::array<std::string_view, 11> kCredentialWords = {
    "KEY",  "TOKEN", "SECRET",  "PASSWORD", "PASSWD", "CREDENTIAL",
    "AUTH", "DSN",   "WEBHOOK", "CREDS",    "BEARER"};

// Prefixes of variables that hold credentials, addresses to send them to, or access rights.
constexpr std::array<std::string_view, 24> kCredentialFamilies = {
    "CAISSON_",    "ANTHROPIC_", "OPENAI_",    "OPENROUTER_", "AZURE_",
    "GITHUB_APP_", "GATEWAY_",   "AUXILIARY_", "TELEGRAM_",   "DISCORD_",
    "SLACK_",      "WHATSAPP_",  "SIGNAL_",    "EMAIL_",      "HASS_",
    "VERCEL_",     "MODAL_",     "DAYTONA_",   "FIRECRAWL_",  "GOOGLE_APPLICATION_",
    "VERTEX_",     "SUDO_",      "PGPASS",     "AWS_"};

// Variables that change how a program is loaded, or what an interpreter runs first. A child that
// needs one has it among its own variables.
constexpr std::array<std::string_view, 12> kSteering = {
    "LD_",   "GCONV_PATH",   "LOCPATH",   "PYTHON", "VIRTUAL_ENV", "CONDA_",
    "BASH_", "NODE_OPTIONS", "JAVA_TOOL", "PERL5",  "RUBY",        "GLIBC_TUNABLES"};

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

bool Matches(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

bool StartsWithAny(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](auto each) { return name.starts_with(each); });
}

bool MayInherit(std::string_view name, const ChildVariables& variables) {
  return std::ranges::any_of(variables.inherit,
                             [&](const auto& pattern) { return Matches(pattern, name); }) &&
         !IsCredentialName(name) && !StartsWithAny(name, kSteering);
}

// Only the session may use this prefix, because programs trust every variable that has it.
void ApplySession(const CallerContext& caller, EnvironmentMap& environment) {
  std::erase_if(environment,
                [](const auto& entry) { return entry.first.starts_with(kSessionPrefix); });
  for (const CallerVariable variable : AllCallerVariables()) {
    const std::string& name = EnvironmentName(variable);
    if (const auto& said = caller.slot(variable)) {
      environment[name] = *said;
    } else if (!caller.host().engaged()) {
      const auto& start = caller.host().start_environment();
      if (const auto found = start.find(name); found != start.end()) environment.insert(*found);
    }
  }
}

Result<std::string> Entry(const std::string& name, const std::string& value) {
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::kInvalidArgument,
                 "environment variable " + name.substr(0, 100) + ": " + std::string(why));
  };
  if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos) {
    return refuse("not a name");
  }
  if (value.find('\0') != value.npos) return refuse("the value has a NUL byte");
  if (name.size() + 1 + value.size() > kMaxEntryBytes) return refuse("the value is too long");
  return name + "=" + value;
}

}  // namespace

bool IsCredentialName(std::string_view name) {
  const std::string upper = Upper(name);
  return std::ranges::any_of(kCredentialWords,
                             [&](auto word) { return upper.find(word) != upper.npos; }) ||
         StartsWithAny(upper, kCredentialFamilies);
}

Result<ChildEnvironment> ChildEnvironment::Build(const CallerContext& caller,
                                                 const ChildVariables& variables) {
  EnvironmentMap environment;
  for (const auto& entry : caller.host().start_environment()) {
    if (MayInherit(entry.first, variables)) environment.insert(entry);
  }
  for (const auto& [name, value] : variables.own) environment.insert_or_assign(name, value);
  ApplySession(caller, environment);

  std::vector<std::string> entries;
  entries.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    TRY_ASSIGN(std::string entry, Entry(name, value));
    entries.push_back(std::move(entry));
  }
  return ChildEnvironment(std::move(entries));
}

}  // namespace caisson
