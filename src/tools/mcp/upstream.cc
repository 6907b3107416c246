#include "tools/mcp/upstream.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/base64.h"
#include "base/run_on.h"
#include "tools/mcp/http_link.h"
#include "tools/mcp/pipe_link.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr std::string_view kModern = "2026-07-28";
constexpr std::string_view kLegacy = "2025-11-25";
constexpr std::size_t kMaxTools = 1000;
constexpr int kMaxPages = 100;
constexpr std::size_t kMaxInstances = 64;
constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::seconds kLongestPause{30};

ToolRaised Raised(std::string type, std::string message) {
  return {.type = std::move(type), .message = std::move(message)};
}

Dict ClientInfo() {
  return Object({{"name", "caisson"}, {"version", "1"}});
}

// Any name as one that code can call.
std::string PythonName(std::string_view name) {
  std::string made;
  for (const char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    made.push_back(fits ? c : '_');
  }
  if (made.empty() || (made[0] >= '0' && made[0] <= '9')) made.insert(0, "_");
  return made;
}

// One block of a result as code sees it: text as str, data as bytes, the rest as it is.
Value ValueOf(const Value& block) {
  const auto* fields = block.If<Dict>();
  if (fields == nullptr) return block;
  if (const auto* text = FindAs<std::string>(*fields, "text")) return *text;
  const auto* data = FindAs<std::string>(*fields, "data");
  const auto* resource = FindAs<Dict>(*fields, "resource");
  if (data == nullptr && resource != nullptr) {
    if (const auto* text = FindAs<std::string>(*resource, "text")) return *text;
    data = FindAs<std::string>(*resource, "blob");
  }
  if (data == nullptr) return block;
  auto bytes = DecodeBase64(*data);
  return bytes ? Value(Bytes{*std::move(bytes)}) : block;
}

std::string TextOf(const List* content) {
  std::string text;
  if (content == nullptr) return text;
  for (const Value& block : content->items) {
    const auto* fields = block.If<Dict>();
    const auto* part = fields == nullptr ? nullptr : FindAs<std::string>(*fields, "text");
    if (part == nullptr) continue;
    if (!text.empty()) text.push_back('\n');
    text.append(*part);
  }
  return text;
}

ToolAnswer AnswerOf(const Dict& result) {
  const auto* type = FindAs<std::string>(result, "resultType");
  if (type != nullptr && *type != "complete") {
    return Raised("RuntimeError", "the server asks for something that code cannot give");
  }
  const auto* content = FindAs<List>(result, "content");
  const auto* failed = FindAs<bool>(result, "isError");
  if (failed != nullptr && *failed) return Raised("ToolError", TextOf(content));
  if (const Value* structured = result.Find("structuredContent")) return *structured;
  if (content == nullptr || content->items.empty()) return Value();
  if (content->items.size() == 1) return ValueOf(content->items[0]);
  List values;
  for (const Value& block : content->items) values.items.push_back(ValueOf(block));
  return Value(std::move(values));
}

}  // namespace

// One server as one environment sees it. All but `link`'s own on its strand.
struct Upstream::Instance {
  explicit Instance(const asio::any_io_executor& io) : strand(asio::make_strand(io)) {}

  const asio::any_io_executor strand;
  std::shared_ptr<UpstreamLink> link;
  bool modern = false;
  bool stale = true;                               // The list has to be fetched.
  std::map<std::string, std::string> definitions;  // Of its tools, as JSON.
  std::chrono::milliseconds pause{0};
  Time not_before{};
  bool connecting = false;
  bool closed = false;
};

std::shared_ptr<Upstream> Upstream::Make(UpstreamSpec spec, UpstreamResources resources) {
  return std::shared_ptr<Upstream>(new Upstream(std::move(spec), std::move(resources)));
}

Result<ChildEnvironment> Upstream::EnvironmentFor(const CallContext& call) const {
  if (spec_.url) return ChildEnvironment();  // It has no process.
  if (call.session != nullptr) return ChildEnvironment::Build(*call.session, spec_.variables);
  return ChildEnvironment::Build(SessionContext(*resources_.host), spec_.variables);
}

Result<std::shared_ptr<Upstream::Instance>> Upstream::InstanceFor(
    const ChildEnvironment& environment) {
  std::string key;
  for (const std::string& entry : environment.entries()) key.append(entry).push_back('\0');
  auto state = state_.Lock();
  if (state->closed) return Error(ErrorCode::kUnavailable, "this upstream is closed");
  const auto found = state->instances.find(key);
  if (found != state->instances.end()) return found->second;
  if (state->instances.size() >= kMaxInstances) {
    return Error(ErrorCode::kResourceExhausted, "too many instances of this upstream are running");
  }
  auto instance = std::make_shared<Instance>(resources_.io);
  state->instances.emplace(std::move(key), instance);
  return instance;
}

void Upstream::Close() {
  std::map<std::string, std::shared_ptr<Instance>> instances;
  {
    auto state = state_.Lock();
    state->closed = true;
    instances.swap(state->instances);
  }
  for (const auto& [key, instance] : instances) {
    asio::post(instance->strand, [instance] {
      instance->closed = true;
      if (instance->link == nullptr) return;
      asio::post(instance->link->executor(), [link = instance->link] { link->Close(); });
    });
  }
}

asio::awaitable<Result<Dict>> Upstream::Ask(Instance& instance, std::string method,
                                            Dict params) const {
  if (instance.modern) {
    Append(params, "_meta",
           Object({{"io.modelcontextprotocol/protocolVersion", std::string(kModern)},
                   {"io.modelcontextprotocol/clientCapabilities", Dict()},
                   {"io.modelcontextprotocol/clientInfo", ClientInfo()}}));
  }
  const auto link = instance.link;
  co_return co_await RunOn(link->executor(), link->Ask(std::move(method), std::move(params)));
}

// Legacy first: that is what nearly all servers speak, and those that do not say so.
asio::awaitable<Result<void>> Upstream::Connect(std::shared_ptr<Instance> instance,
                                                ChildEnvironment environment) const {
  if (instance->link != nullptr && !instance->link->is_broken()) co_return Result<void>();
  if (instance->closed) co_return Error(ErrorCode::kUnavailable, "this upstream is closed");
  if (instance->connecting || std::chrono::steady_clock::now() < instance->not_before) {
    co_return Error(ErrorCode::kUnavailable,
                    "the server \"" + spec_.name + "\" is being started; try again");
  }
  instance->connecting = true;
  instance->modern = false;
  instance->stale = true;
  instance->pause =
      std::clamp<std::chrono::milliseconds>(instance->pause * 2, kFirstPause, kLongestPause);
  instance->not_before = std::chrono::steady_clock::now() + instance->pause;
  if (spec_.url) {
    instance->link = std::make_shared<HttpLink>(resources_.io, resources_.http,
                                                HttpLinkSpec{*spec_.url, spec_.bearer});
  } else {
    auto link = PipeLink::Start(
        resources_.io, {.argv = spec_.argv,
                        .directory = spec_.directory,
                        .environment = std::move(environment),
                        .on_list_changed =
                            [weak = std::weak_ptr(instance)] {
                              const auto changed = weak.lock();
                              if (changed == nullptr) return;
                              asio::post(changed->strand, [changed] { changed->stale = true; });
                            },
                        .log = resources_.log});
    if (!link) {
      instance->connecting = false;
      co_return std::move(link).error();
    }
    instance->link = *std::move(link);
  }
  auto begun = co_await Ask(*instance, "initialize",
                            Object({{"protocolVersion", std::string(kLegacy)},
                                    {"capabilities", Dict()},
                                    {"clientInfo", ClientInfo()}}));
  if (begun) {
    const auto* version = FindAs<std::string>(*begun, "protocolVersion");
    instance->link->SetVersion(version == nullptr ? std::string(kLegacy) : *version);
    const auto link = instance->link;
    co_await RunOn(link->executor(), link->Tell("notifications/initialized", {}));
  } else {
    instance->modern = true;
    instance->link->SetVersion(std::string(kModern));
    auto discovered = co_await Ask(*instance, "server/discover", {});
    if (!discovered) {
      instance->link->Close();
      instance->connecting = false;
      co_return std::move(begun).error().Context("upstream \"" + spec_.name + "\"");
    }
  }
  instance->connecting = false;
  instance->pause = std::chrono::milliseconds(0);
  co_return Result<void>();
}

asio::awaitable<Result<void>> Upstream::List(Instance& instance) const {
  std::map<std::string, std::string> definitions;
  std::optional<std::string> cursor;
  for (int page = 0; page < kMaxPages; ++page) {
    Dict params;
    if (cursor) Append(params, "cursor", *cursor);
    const auto listed = co_await Ask(instance, "tools/list", std::move(params));
    if (!listed) co_return listed.error();
    const auto* tools = FindAs<caisson::List>(*listed, "tools");
    if (tools == nullptr) co_return Error(ErrorCode::kUnavailable, "the server lists no tools");
    for (const Value& tool : tools->items) {
      const auto* fields = tool.If<Dict>();
      const auto* name = fields == nullptr ? nullptr : FindAs<std::string>(*fields, "name");
      if (name == nullptr || definitions.size() >= kMaxTools) continue;
      const auto text = ToJson(tool);
      if (text) definitions.emplace(*name, *text);
    }
    const auto* next = FindAs<std::string>(*listed, "nextCursor");
    if (next == nullptr) break;
    cursor = *next;
  }
  instance.definitions = std::move(definitions);
  instance.stale = false;
  co_return Result<void>();
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

Result<std::shared_ptr<const Tool>> Upstream::MakeTool(const std::string& name,
                                                       const std::string& definition) {
  TRY_ASSIGN(const Value value, ParseJson(definition));
  const Dict& fields = *value.If<Dict>();
  const auto* description = FindAs<std::string>(fields, "description");
  const Value* input = fields.Find("inputSchema");
  const Value* output = fields.Find("outputSchema");
  ToolDefinition made{.name = PythonName(spec_.prefix.value_or(spec_.name + "_") + name),
                      .description = description == nullptr ? "" : *description,
                      .input_schema = input == nullptr ? Value(Dict()) : *input,
                      .output_schema = output == nullptr ? std::nullopt : std::optional(*output),
                      .approval = ApprovalOf(name, fields),
                      .timeout = spec_.timeout};
  return Tool::Make(std::move(made),
                    Awaitable([self = shared_from_this(), name, definition](
                                  Dict arguments, CallContext call) -> asio::awaitable<ToolAnswer> {
                      auto environment = self->EnvironmentFor(call);
                      if (!environment)
                        co_return Raised("RuntimeError", environment.error().message());
                      auto instance = self->InstanceFor(*environment);
                      if (!instance) co_return Raised("RuntimeError", instance.error().message());
                      co_return co_await RunOn((*instance)->strand,
                                               self->Call(*instance, *std::move(environment), name,
                                                          definition, std::move(arguments)));
                    }));
}

asio::awaitable<ToolAnswer> Upstream::Call(std::shared_ptr<Instance> instance,
                                           ChildEnvironment environment, std::string tool,
                                           std::string definition, Dict arguments) const {
  co_await asio::this_coro::throw_if_cancelled(false);
  if (auto connected = co_await Connect(instance, std::move(environment)); !connected) {
    co_return Raised("ConnectionError", connected.error().message());
  }
  if (instance->stale) {
    if (auto listed = co_await List(*instance); !listed) {
      co_return Raised("ConnectionError", listed.error().message());
    }
  }
  const auto current = instance->definitions.find(tool);
  if (current == instance->definitions.end() || current->second != definition) {
    co_return Raised("RuntimeError", "the server has changed its tool \"" + tool +
                                         "\" since it was listed here; it is not called any more");
  }
  const auto result = co_await Ask(*instance, "tools/call",
                                   Object({{"name", tool}, {"arguments", std::move(arguments)}}));
  if (result) co_return AnswerOf(*result);
  const bool refused = result.error().code() == ErrorCode::kFailedPrecondition;
  co_return Raised(refused ? "ToolError" : "ConnectionError", result.error().message());
}

asio::awaitable<Result<std::vector<std::shared_ptr<const Tool>>>> Upstream::Tools() {
  auto environment = EnvironmentFor({});
  if (!environment) co_return std::move(environment).error();
  auto instance = InstanceFor(*environment);
  if (!instance) co_return std::move(instance).error();
  const auto list = [](std::shared_ptr<Upstream> self, std::shared_ptr<Instance> in,
                       ChildEnvironment with) -> asio::awaitable<Result<void>> {
    auto connected = co_await self->Connect(in, std::move(with));
    if (!connected) co_return connected;
    co_return co_await self->List(*in);
  };
  auto listed = co_await RunOn((*instance)->strand,
                               list(shared_from_this(), *instance, *std::move(environment)));
  if (!listed) co_return std::move(listed).error().Context("upstream \"" + spec_.name + "\"");
  std::vector<std::shared_ptr<const Tool>> tools;
  for (const auto& [name, definition] : (*instance)->definitions) {
    if (!IsWanted(name)) continue;
    auto tool = MakeTool(name, definition);
    if (tool) {
      tools.push_back(*std::move(tool));
    } else if (resources_.log) {
      resources_.log("upstream \"" + spec_.name + "\": its tool \"" + name +
                     "\" is left out: " + tool.error().message() + "\n");
    }
  }
  co_return tools;
}

}  // namespace caisson
