#include "protocol/mcp/server.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "wire/object.h"

namespace caisson::mcp {
namespace {

// How long a modern client may cache an answer. Answers are private to the caller.
constexpr std::int64_t kListTtlMs = 60'000;

RpcError MustBeString(std::string_view name) {
  return InvalidParams("params." + std::string(name) + " must be a string");
}

// The lists have one page, so every cursor is invalid.
std::optional<RpcError> RefuseCursor(const Dict& params) {
  if (params.Find("cursor") == nullptr) return std::nullopt;
  return InvalidParams("the cursor is unknown");
}

std::variant<Use, RpcError> ReadUse(const Dict& params) {
  Use use;
  for (const auto& [name, into] : {std::pair("arguments", &use.arguments),
                                   std::pair("inputResponses", &use.input_responses)}) {
    const Value* given = params.Find(name);
    if (given == nullptr) continue;
    const auto* fields = given->If<Dict>();
    if (fields == nullptr)
      return InvalidParams("params." + std::string(name) + " must be an object");
    *into = *fields;
  }
  if (const Value* state = params.Find("requestState")) {
    const auto* text = state->If<std::string>();
    if (text == nullptr) return MustBeString("requestState");
    use.request_state = *text;
  }
  return use;
}

// Reports all problems together, because models read them and try again.
Dict BadArguments(const std::vector<SchemaProblem>& problems) {
  std::string text = "The arguments do not match the tool's inputSchema:";
  for (const SchemaProblem& problem : problems) text.append("\n" + problem.Text());
  return ErrorResult(std::move(text));
}

void AddMeta(Dict& result, std::string_view key, Value value) {
  for (auto& [name, field] : result.items) {
    auto* meta = std::get_if<Dict>(&field.variant());
    if (name == Value("_meta") && meta != nullptr) return Append(*meta, key, std::move(value));
  }
  Append(result, "_meta", Object({{key, std::move(value)}}));
}

template <typename T>
List Definitions(const std::vector<T>& features) {
  List definitions;
  for (const T& feature : features) definitions.items.emplace_back(feature.definition);
  return definitions;
}

}  // namespace

struct Server::Method {
  enum class In { kBoth, kLegacy, kModern };
  enum class Part { kCore, kResources, kPrompts, kCompletions, kChanges };
  Answer (Server::*answer)(const Dict&, Exchange&) const;
  In in = In::kBoth;
  Part part = Part::kCore;
  bool cacheable = false;
};

const std::map<std::string_view, Server::Method>& Server::Methods() {
  using In = Method::In;
  using Part = Method::Part;
  static const std::map<std::string_view, Method> methods = {
      {"initialize", {.answer = &Server::Initialize, .in = In::kLegacy}},
      {"ping", {.answer = &Server::Ping, .in = In::kLegacy}},
      {"logging/setLevel", {.answer = &Server::SetLogLevel, .in = In::kLegacy}},
      {"server/discover", {.answer = &Server::Discover, .in = In::kModern, .cacheable = true}},
      {"tools/list", {.answer = &Server::ListTools, .cacheable = true}},
      {"tools/call", {.answer = &Server::CallTool}},
      {"subscriptions/listen",
       {.answer = &Server::Listen, .in = In::kModern, .part = Part::kChanges}},
      {"resources/list",
       {.answer = &Server::ListResources, .part = Part::kResources, .cacheable = true}},
      {"resources/templates/list",
       {.answer = &Server::ListTemplates, .part = Part::kResources, .cacheable = true}},
      {"resources/read",
       {.answer = &Server::ReadResource, .part = Part::kResources, .cacheable = true}},
      {"resources/subscribe",
       {.answer = &Server::Subscribe, .in = In::kLegacy, .part = Part::kResources}},
      {"resources/unsubscribe",
       {.answer = &Server::Unsubscribe, .in = In::kLegacy, .part = Part::kResources}},
      {"prompts/list", {.answer = &Server::ListPrompts, .part = Part::kPrompts, .cacheable = true}},
      {"prompts/get", {.answer = &Server::GetPrompt, .part = Part::kPrompts}},
      {"completion/complete", {.answer = &Server::Complete, .part = Part::kCompletions}},
  };
  return methods;
}

Server::Server(ServerInfo info, Features features)
    : info_(std::move(info)),
      features_(std::move(features)),
      changes_(std::make_unique<ToolChanges>(
          features_.tools_changed, [this](const Caller& caller) { return ShownTools(caller); })) {
  for (const ToolFeature& tool : features_.tools) {
    const auto* name = FindAs<std::string>(tool.definition, "name");
    const Value* schema = tool.definition.Find("inputSchema");
    // A bug in the definitions of this program.
    if (name == nullptr || schema == nullptr) std::abort();
    auto compiled = Schema::Compile(*schema);
    if (!compiled) std::abort();
    if (!tools_.try_emplace(*name, Tool{&tool, *std::move(compiled)}).second) std::abort();
  }
}

Server::~Server() = default;

bool Server::Offers(const Method& method, Era era) const {
  if (method.in == Method::In::kLegacy && era != Era::kLegacy) return false;
  if (method.in == Method::In::kModern && era != Era::kModern) return false;
  switch (method.part) {
    case Method::Part::kCore:
      return true;
    case Method::Part::kResources:
      return features_.resources != nullptr;
    case Method::Part::kPrompts:
      return !features_.prompts.empty();
    case Method::Part::kCompletions:
      return features_.complete != nullptr;
    case Method::Part::kChanges:
      return changes_->can_happen();
  }
  return false;
}

asio::awaitable<Reply> Server::Handle(const Request& request, Exchange& exchange) const {
  const Era era = exchange.caller().era;
  const auto found = Methods().find(request.method);
  if (found == Methods().end() || !Offers(found->second, era)) {
    co_return RpcError{.code = RpcCode::kMethodNotFound,
                       .message = "there is no method \"" + request.method + "\" here"};
  }
  const Method& method = found->second;
  Reply reply = co_await (this->*method.answer)(request.params, exchange);
  auto* result = std::get_if<Dict>(&reply);
  if (result == nullptr) co_return reply;
  co_return Finished(std::move(*result), method, era);
}

// Adds the fields that every result of the modern era has.
Dict Server::Finished(Dict result, const Method& method, Era era) const {
  if (era != Era::kModern) return result;
  if (result.Find("resultType") == nullptr) Append(result, "resultType", "complete");
  AddMeta(result, kMetaServerInfo, Implementation());
  if (method.cacheable) {
    Append(result, "ttlMs", kListTtlMs);
    Append(result, "cacheScope", "private");
  }
  return result;
}

void Server::Notice(const Notification& notification, ClientConnection& connection) {
  if (notification.method == "notifications/initialized") connection.initialized = true;
  if (notification.method != "notifications/cancelled") return;
  if (const Value* id = notification.params.Find("requestId")) connection.requests.Cancel(*id);
}

Dict Server::Implementation() const {
  Dict fields = Object({{"name", info_.name}, {"version", info_.version}});
  if (!info_.title.empty()) Append(fields, "title", info_.title);
  return fields;
}

Dict Server::Capabilities(Era era) const {
  Dict tools = changes_->can_happen() ? Object({{"listChanged", true}}) : Dict();
  Dict capabilities = Object({{"tools", std::move(tools)}, {"logging", Dict()}});
  if (features_.resources != nullptr) {
    Append(capabilities, "resources", era == Era::kLegacy ? Object({{"subscribe", true}}) : Dict());
  }
  if (!features_.prompts.empty()) Append(capabilities, "prompts", Dict());
  if (features_.complete) Append(capabilities, "completions", Dict());
  return capabilities;
}

Server::Answer Server::Initialize(const Dict& params, Exchange& exchange) const {
  const auto* requested = FindAs<std::string>(params, "protocolVersion");
  if (requested == nullptr) co_return MustBeString("protocolVersion");
  const std::string version(IsLegacyVersion(*requested) ? *requested : kNewestLegacyVersion);
  if (ClientConnection* connection = exchange.connection()) {
    connection->version = version;
    const auto* capabilities = FindAs<Dict>(params, "capabilities");
    connection->capabilities = capabilities == nullptr ? Dict() : *capabilities;
  }
  Dict result = Object({{"protocolVersion", version},
                        {"capabilities", Capabilities(Era::kLegacy)},
                        {"serverInfo", Implementation()}});
  if (!info_.instructions.empty()) Append(result, "instructions", info_.instructions);
  co_return result;
}

Server::Answer Server::Discover(const Dict&, Exchange&) const {
  List versions{{Value(std::string(kModernVersion))}};
  for (const std::string_view version : kLegacyVersions) {
    versions.items.emplace_back(std::string(version));
  }
  Dict result = Object(
      {{"supportedVersions", std::move(versions)}, {"capabilities", Capabilities(Era::kModern)}});
  if (!info_.instructions.empty()) Append(result, "instructions", info_.instructions);
  co_return result;
}

Server::Answer Server::Ping(const Dict&, Exchange&) const {
  co_return Dict();
}

Server::Answer Server::SetLogLevel(const Dict& params, Exchange& exchange) const {
  const auto* name = FindAs<std::string>(params, "level");
  const auto level = name == nullptr ? std::nullopt : ParseLogLevel(*name);
  if (!level) co_return InvalidParams("params.level must be a log level");
  if (ClientConnection* connection = exchange.connection()) connection->log_level = *level;
  co_return Dict();
}

Server::Answer Server::ListTools(const Dict& params, Exchange& exchange) const {
  if (auto refused = RefuseCursor(params)) co_return *std::move(refused);
  List definitions;
  for (const ToolFeature& tool : features_.tools) {
    Dict definition = tool.definition;
    if (tool.description) {
      const auto place = std::ranges::find(definition.items, Value("description"),
                                           [](const auto& item) { return item.first; });
      if (place != definition.items.end()) place->second = tool.description(exchange.caller());
    }
    definitions.items.emplace_back(std::move(definition));
  }
  co_return Object({{"tools", std::move(definitions)}});
}

std::string Server::ShownTools(const Caller& caller) const {
  std::string shown;
  for (const ToolFeature& tool : features_.tools) {
    if (tool.description) shown.append(tool.description(caller)).push_back('\0');
  }
  return shown;
}

// Lasts until the client ends it.
Server::Answer Server::Listen(const Dict& params, Exchange& exchange) const {
  const auto* wanted = FindAs<Dict>(params, "notifications");
  if (wanted == nullptr) co_return InvalidParams("params.notifications must be an object");
  const auto* wants_tools = FindAs<bool>(*wanted, "toolsListChanged");
  const bool tells = wants_tools != nullptr && *wants_tools;
  const auto place = changes_->TakePlace(exchange.caller().owner());
  if (place == nullptr) {
    co_return RpcError{.code = RpcCode::kInternalError,
                       .message = "too many open subscriptions; close one first"};
  }
  const Dict meta = Object({{kMetaSubscription, exchange.request_id()}});
  exchange.Notify("notifications/subscriptions/acknowledged",
                  Object({{"notifications", tells ? Object({{"toolsListChanged", true}}) : Dict()},
                          {"_meta", meta}}));
  co_await changes_->Tell(exchange.caller(), [&] {
    if (tells) exchange.Notify(kToolsChanged, Object({{"_meta", meta}}));
  });
  co_return Object({{"_meta", meta}});
}

Server::Answer Server::CallTool(const Dict& params, Exchange& exchange) const {
  const auto* name = FindAs<std::string>(params, "name");
  if (name == nullptr) co_return MustBeString("name");
  const auto tool = tools_.find(*name);
  if (tool == tools_.end()) co_return InvalidParams("there is no tool \"" + *name + "\"");
  auto use = ReadUse(params);
  if (auto* error = std::get_if<RpcError>(&use)) co_return std::move(*error);
  auto& given = std::get<Use>(use);
  const auto problems = tool->second.input.Check(Value(given.arguments));
  if (!problems.empty()) co_return BadArguments(problems);
  co_return co_await tool->second.feature->call(std::move(given), exchange);
}

Server::Answer Server::ListResources(const Dict& params, Exchange& exchange) const {
  std::optional<std::string> cursor;
  if (params.Find("cursor") != nullptr) {
    const auto* text = FindAs<std::string>(params, "cursor");
    if (text == nullptr) co_return MustBeString("cursor");
    cursor = *text;
  }
  co_return co_await features_.resources->List(std::move(cursor), exchange);
}

Server::Answer Server::ListTemplates(const Dict& params, Exchange&) const {
  if (auto refused = RefuseCursor(params)) co_return *std::move(refused);
  co_return Object({{"resourceTemplates", features_.resources->Templates()}});
}

Server::Answer Server::ReadResource(const Dict& params, Exchange& exchange) const {
  const auto* uri = FindAs<std::string>(params, "uri");
  if (uri == nullptr) co_return MustBeString("uri");
  auto contents = co_await features_.resources->Read(*uri, exchange);
  if (contents) co_return Object({{"contents", *std::move(contents)}});
  const bool modern = exchange.caller().era == Era::kModern;
  co_return RpcError{.code = modern ? RpcCode::kInvalidParams : RpcCode::kResourceNotFound,
                     .message = "there is no such resource",
                     .data = Object({{"uri", *uri}})};
}

// The resources never change, so a subscription is kept and nothing is sent.
Server::Answer Server::Subscribe(const Dict& params, Exchange& exchange) const {
  constexpr std::size_t kMaxSubscriptions = 1000;
  const auto* uri = FindAs<std::string>(params, "uri");
  if (uri == nullptr) co_return MustBeString("uri");
  if (ClientConnection* connection = exchange.connection()) {
    if (connection->subscriptions.size() >= kMaxSubscriptions) {
      co_return InvalidParams("this connection has too many subscriptions; end one first");
    }
    connection->subscriptions.insert(*uri);
  }
  co_return Dict();
}

Server::Answer Server::Unsubscribe(const Dict& params, Exchange& exchange) const {
  const auto* uri = FindAs<std::string>(params, "uri");
  if (uri == nullptr) co_return MustBeString("uri");
  if (ClientConnection* connection = exchange.connection()) connection->subscriptions.erase(*uri);
  co_return Dict();
}

Server::Answer Server::ListPrompts(const Dict& params, Exchange&) const {
  if (auto refused = RefuseCursor(params)) co_return *std::move(refused);
  co_return Object({{"prompts", Definitions(features_.prompts)}});
}

Server::Answer Server::GetPrompt(const Dict& params, Exchange& exchange) const {
  const auto* name = FindAs<std::string>(params, "name");
  if (name == nullptr) co_return MustBeString("name");
  auto use = ReadUse(params);
  if (auto* error = std::get_if<RpcError>(&use)) co_return std::move(*error);
  for (const PromptFeature& prompt : features_.prompts) {
    if (*FindAs<std::string>(prompt.definition, "name") != *name) continue;
    co_return co_await prompt.get(std::get<Use>(std::move(use)), exchange);
  }
  co_return InvalidParams("there is no prompt \"" + *name + "\"");
}

Server::Answer Server::Complete(const Dict& params, Exchange&) const {
  if (FindAs<Dict>(params, "ref") == nullptr || FindAs<Dict>(params, "argument") == nullptr) {
    co_return InvalidParams("params.ref and params.argument must be objects");
  }
  co_return features_.complete(params);
}

}  // namespace caisson::mcp
