#include "tools/mcp/upstream.h"

#include <algorithm>
#include <utility>

#include "tools/mcp/http_link.h"
#include "tools/mcp/pipe_link.h"
#include "wire/canonical_json.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

using Clock = std::chrono::steady_clock;

// Servers behind URLs cannot report changes while no request is open.
constexpr std::chrono::minutes kListLasts{1};

// The levels around the arguments of a call: {"params":{"arguments":...}}.
constexpr int kLevelsOfARequest = 2;

// Converts any name to a Python name.
std::string PythonName(std::string_view name) {
  std::string made;
  for (const char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    made.push_back(fits ? c : '_');
  }
  if (made.empty() || (made[0] >= '0' && made[0] <= '9')) made.insert(0, "_");
  return made;
}

std::string KeyOf(const std::optional<ChildEnvironment>& environment) {
  if (!environment) return "";
  std::string key = "session";
  for (const std::string& entry : environment->entries()) key.append(1, '\0').append(entry);
  return key;
}

// Returns the user that a session acts for. Sessions of one user differ, for example in their chat.
std::string UserOf(const CallerContext* caller) {
  if (caller == nullptr) return "";
  using enum CallerVariable;
  const std::string user = caller->Get(kScopeId) + '\0' + caller->Get(kUserId);
  return user.size() > 1 ? user : caller->Get(kPrincipal);
}

std::string OriginOf(const UpstreamSpec& spec) {
  List words;
  for (const std::string& word : spec.argv) words.items.emplace_back(word);
  if (spec.url) words.items.emplace_back(spec.url->Text());
  auto text = CanonicalJson(Value(std::move(words)));
  return text ? *std::move(text) : spec.name;
}

ToolAnswer Refused(const Error& error) {
  return ToRaised(error);
}

}  // namespace

// A use of an instance. An instance in use does not expire.
class Upstream::Use {
 public:
  Use(std::shared_ptr<Upstream> upstream, std::string key,
      std::shared_ptr<UpstreamInstance> instance)
      : upstream_(std::move(upstream)), key_(std::move(key)), instance_(std::move(instance)) {}
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { upstream_->Leave(key_); }

  UpstreamInstance& instance() const { return *instance_; }

 private:
  const std::shared_ptr<Upstream> upstream_;
  const std::string key_;
  const std::shared_ptr<UpstreamInstance> instance_;
};

std::shared_ptr<Upstream> Upstream::Make(UpstreamSpec spec, UpstreamResources resources) {
  return std::shared_ptr<Upstream>(new Upstream(std::move(spec), std::move(resources)));
}

Upstream::Upstream(UpstreamSpec spec, UpstreamResources resources)
    : spec_(std::move(spec)), resources_(std::move(resources)), origin_(OriginOf(spec_)) {}

// ---- Instances ----

Result<std::optional<ChildEnvironment>> Upstream::EnvironmentFor(
    const CallerContext* caller) const {
  if (spec_.sharing == Sharing::kShared || caller == nullptr) {
    return std::optional<ChildEnvironment>();
  }
  // The environment of the person, not of one request, because the instance also serves later
  // requests.
  TRY_ASSIGN(ChildEnvironment environment,
             ChildEnvironment::Build(caller->WithoutRequest(), spec_.variables));
  return std::optional(std::move(environment));
}

Result<std::shared_ptr<UpstreamLink>> Upstream::Connect(
    const std::optional<ChildEnvironment>& environment, OnListChanged on_list_changed) const {
  if (spec_.url) {
    HttpLinkSpec link{
        .url = *spec_.url, .bearer = spec_.bearer, .on_list_changed = std::move(on_list_changed)};
    return std::shared_ptr<UpstreamLink>(
        std::make_shared<HttpLink>(resources_.io, resources_.http, std::move(link)));
  }
  PipeLinkSpec link{.argv = spec_.argv,
                    .directory = spec_.directory,
                    .on_list_changed = std::move(on_list_changed),
                    .log = resources_.log};
  if (environment) {
    link.environment = *environment;
  } else {
    TRY_ASSIGN(link.environment,
               ChildEnvironment::Build(CallerContext(*resources_.host), spec_.variables));
  }
  TRY_ASSIGN(std::shared_ptr<UpstreamLink> started,
             PipeLink::Start(resources_.io, std::move(link)));
  return started;
}

Upstream::Place Upstream::MakePlace(const std::string& key,
                                    const std::optional<ChildEnvironment>& environment,
                                    const std::string& user) {
  UpstreamInstanceOptions options{.name = spec_.name};
  options.connect = [weak = weak_from_this(),
                     environment](OnListChanged changed) -> Result<std::shared_ptr<UpstreamLink>> {
    const auto self = weak.lock();
    if (self == nullptr) return Error(ErrorCode::kUnavailable, "this upstream is closed");
    return self->Connect(environment, std::move(changed));
  };
  options.on_listed = [weak = weak_from_this(), key](const UpstreamDefinitions& definitions) {
    if (const auto self = weak.lock()) self->OnListed(key, definitions);
  };
  if (spec_.url) {
    options.first_era = FirstEra::kModern;
    options.list_lasts = kListLasts;
  }
  return {.instance = std::make_shared<UpstreamInstance>(resources_.io, std::move(options)),
          .user = user,
          .idle = asio::steady_timer(resources_.io)};
}

Result<std::shared_ptr<Upstream::Use>> Upstream::Enter(
    const std::optional<ChildEnvironment>& environment, const std::string& user) {
  std::string key = KeyOf(environment);
  std::shared_ptr<UpstreamInstance> ended;
  std::shared_ptr<Use> use;
  {
    auto state = state_.Lock();
    if (state->closed) return Error(ErrorCode::kUnavailable, "this upstream is closed");
    auto found = state->places.find(key);
    if (found == state->places.end()) {
      if (!key.empty()) {
        TRY_ASSIGN(ended, MakeRoom(*state, user));
      }
      found = state->places.emplace(key, MakePlace(key, environment, user)).first;
    }
    Place& place = found->second;
    ++place.calls;
    place.idle.cancel();
    use = std::make_shared<Use>(shared_from_this(), std::move(key), place.instance);
  }
  if (ended != nullptr) {
    ended->Close();
    if (resources_.on_change) resources_.on_change();  // Its session now sees the common list.
  }
  return use;
}

// A user whose calls use half of the instances gets no more, so that there is always something left
// for others.
Result<std::shared_ptr<UpstreamInstance>> Upstream::MakeRoom(State& state,
                                                             const std::string& user) const {
  const std::size_t others = state.places.size() - state.places.count("");
  std::map<std::string, std::size_t> counts;
  std::size_t in_use = 0;
  for (const auto& [key, place] : state.places) {
    if (key.empty()) continue;
    ++counts[place.user];
    if (place.user == user && place.calls > 0) ++in_use;
  }
  if (in_use >= std::max<std::size_t>(spec_.max_instances / 2, 1)) {
    return Error(ErrorCode::kResourceExhausted,
                 "calls of your other sessions use " + std::to_string(in_use) +
                     " instances of the server \"" + spec_.name +
                     "\", and one user can use at most half of all (max_instances = " +
                     std::to_string(spec_.max_instances) + "); try again when some have ended");
  }
  if (others < spec_.max_instances) return std::shared_ptr<UpstreamInstance>();
  // Of the user with the most instances, the one that was not used for the longest time.
  auto victim = state.places.end();
  for (auto place = state.places.begin(); place != state.places.end(); ++place) {
    if (place->first.empty() || place->second.calls > 0) continue;
    const auto rank = [&](const Place& each) {
      return std::pair(counts[each.user], -each.used.time_since_epoch());
    };
    if (victim == state.places.end() || rank(place->second) > rank(victim->second)) victim = place;
  }
  if (victim == state.places.end()) {
    return Error(ErrorCode::kResourceExhausted,
                 "all " + std::to_string(spec_.max_instances) + " instances of the server \"" +
                     spec_.name + "\" are in use by other sessions; try again later");
  }
  auto ended = std::move(victim->second.instance);
  state.places.erase(victim);
  return ended;
}

void Upstream::Leave(const std::string& key) {
  auto state = state_.Lock();
  const auto found = state->places.find(key);
  if (found == state->places.end()) return;  // Closed meanwhile.
  Place& place = found->second;
  place.used = Clock::now();
  if (--place.calls > 0 || key.empty()) return;
  place.idle.expires_at(place.used + spec_.idle);
  place.idle.async_wait([weak = weak_from_this(), key](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self != nullptr) self->Expire(key);
  });
}

void Upstream::Expire(const std::string& key) {
  std::shared_ptr<UpstreamInstance> expired;
  {
    auto state = state_.Lock();
    const auto found = state->places.find(key);
    if (found == state->places.end()) return;
    const Place& place = found->second;
    // It may have been used again since the timer rang.
    if (place.calls > 0 || Clock::now() < place.used + spec_.idle) return;
    expired = place.instance;
    state->places.erase(found);
  }
  expired->Close();
  if (resources_.on_change) resources_.on_change();  // Its session now sees the common list.
}

void Upstream::Close() {
  std::map<std::string, Place> places;
  {
    auto state = state_.Lock();
    state->closed = true;
    places.swap(state->places);
  }
  for (const auto& [key, place] : places) place.instance->Close();
}

asio::awaitable<Result<void>> Upstream::Open() {
  const auto use = Enter(std::nullopt, "");
  if (!use) co_return use.error();
  co_return co_await (*use)->instance().Prepare();
}

// ---- Tools ----

std::shared_ptr<const UpstreamTools> Upstream::ToolsFor(const CallerContext* caller) {
  static const auto kNone = std::make_shared<const UpstreamTools>();
  const auto environment = EnvironmentFor(caller);
  const std::string key = environment ? KeyOf(*environment) : "";
  auto state = state_.Lock();
  auto found = state->places.find(key);
  if (found == state->places.end() || found->second.tools == nullptr)
    found = state->places.find("");
  if (found == state->places.end()) return kNone;
  found->second.instance->RefreshIfOld();
  return found->second.tools == nullptr ? kNone : found->second.tools;
}

void Upstream::OnListed(const std::string& key, const UpstreamDefinitions& definitions) {
  std::shared_ptr<const UpstreamTools> tools;
  {
    auto state = state_.Lock();
    const auto place = state->places.find(key);
    if (place == state->places.end()) return;
    if (place->second.tools != nullptr && place->second.definitions == definitions) return;
    // The list for a session usually equals the common one.
    const auto common = state->places.find("");
    if (common != state->places.end() && common->second.definitions == definitions) {
      tools = common->second.tools;
    }
  }
  if (tools == nullptr) tools = MakeTools(definitions);
  {
    auto state = state_.Lock();
    const auto place = state->places.find(key);
    if (place == state->places.end()) return;
    place->second.definitions = definitions;
    place->second.tools = std::move(tools);
  }
  if (resources_.on_change) resources_.on_change();
}

bool Upstream::IsWanted(const std::string& tool) const {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, tool) != names.end();
  };
  return !has(spec_.deny) && (spec_.allow.empty() || has(spec_.allow));
}

Approval Upstream::ApprovalOf(const std::string& tool, const Dict& definition) const {
  if (std::ranges::find(spec_.ask, tool) != spec_.ask.end()) return Approval::Always();
  const auto* annotations = FindAs<Dict>(definition, "annotations");
  const auto* reads = annotations == nullptr ? nullptr : FindAs<bool>(*annotations, "readOnlyHint");
  if (spec_.trusts_read_only_hint && reads != nullptr && *reads) return Approval::Never();
  return spec_.approval;
}

std::shared_ptr<const UpstreamTools> Upstream::MakeTools(const UpstreamDefinitions& definitions) {
  auto tools = std::make_shared<UpstreamTools>();
  for (const auto& [name, definition] : definitions) {
    if (!IsWanted(name)) continue;
    auto tool = MakeTool(name, definition);
    if (tool) {
      tools->push_back(*std::move(tool));
    } else if (resources_.log) {
      resources_.log("upstream \"" + spec_.name + "\": its tool \"" + name +
                     "\" is left out: " + tool.error().message() + "\n");
    }
  }
  return tools;
}

Result<std::shared_ptr<const Tool>> Upstream::MakeTool(const std::string& name,
                                                       const UpstreamDefinition& definition) {
  TRY_ASSIGN(const Value value, ParseJson(definition.text));
  const Dict& fields = *value.If<Dict>();
  const auto* description = FindAs<std::string>(fields, "description");
  const Value* input = fields.Find("inputSchema");
  const Value* output = fields.Find("outputSchema");
  ToolDefinition made{.name = PythonName(spec_.prefix.value_or(spec_.name + "_") + name),
                      .description = description == nullptr ? "" : *description,
                      .input_schema = input == nullptr ? Value(Dict()) : *input,
                      .output_schema = output == nullptr ? std::nullopt : std::optional(*output),
                      .approval = ApprovalOf(name, fields),
                      .revision = origin_ + definition.canonical,
                      .timeout = spec_.timeout,
                      .longest = std::max(spec_.timeout, spec_.longest)};
  auto call = [weak = weak_from_this(), name, shown = definition.canonical](Dict arguments,
                                                                            CallContext context) {
    return Call(weak, name, shown, std::move(arguments), std::move(context));
  };
  return Tool::Make(std::move(made),
                    Awaitable(std::move(call)).Checking(JsonArgumentsCheck(kLevelsOfARequest)));
}

asio::awaitable<ToolAnswer> Upstream::Call(std::weak_ptr<Upstream> upstream, std::string tool,
                                           std::string definition, Dict arguments,
                                           CallContext call) {
  const auto self = upstream.lock();
  if (self == nullptr) co_return Refused(Error(ErrorCode::kUnavailable, "this upstream is closed"));
  const auto environment = self->EnvironmentFor(call.caller.get());
  if (!environment) co_return Refused(environment.error());
  const auto use = self->Enter(*environment, UserOf(call.caller.get()));
  if (!use) co_return Refused(use.error());
  co_return co_await (*use)->instance().Call(std::move(tool), std::move(definition),
                                             std::move(arguments), std::move(call.on_progress));
}

}  // namespace caisson
