#include "protocol/responses/create_request.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/json_object.h"
#include "protocol/responses/field_reader.h"
#include "protocol/responses/input_reader.h"
#include "protocol/responses/wire_id.h"
#include "wire/json.h"

namespace caisson::responses {
namespace {

constexpr std::size_t kMaxTools = 128;
constexpr std::size_t kMaxToolNameBytes = 64;
constexpr std::size_t kMaxMetadata = 16;
constexpr std::size_t kMaxMetadataKeyBytes = 64;
constexpr std::size_t kMaxMetadataValueBytes = 512;

// Each event with a response repeats these fields.
constexpr std::size_t kMaxEchoBytes = 1u << 20;
// The fields that a response repeats as they came.
constexpr std::array<std::string_view, 17> kEchoed = {"instructions",
                                                      "max_output_tokens",
                                                      "max_tool_calls",
                                                      "metadata",
                                                      "parallel_tool_calls",
                                                      "prompt_cache_key",
                                                      "reasoning",
                                                      "safety_identifier",
                                                      "store",
                                                      "temperature",
                                                      "text",
                                                      "tool_choice",
                                                      "tools",
                                                      "top_p",
                                                      "truncation",
                                                      "user",
                                                      "agent_reference"};

Result<Value> ParseBody(std::string_view body, ApiError& refusal) {
  auto value = ParseJson(body);
  if (value) return value;
  refusal = {.message = "The body is not JSON: " + value.error().message(), .code = "invalid_json"};
  return value;
}

// 16 pairs of short texts.
Result<std::string> ReadMetadata(const FieldReader& fields) {
  const Value* value = fields.Find("metadata");
  if (value == nullptr) return std::string("{}");
  const std::string place = fields.PlaceOf("metadata");
  TRY_ASSIGN(const FieldReader pairs, FieldReader::Open(*value, place, fields.refusal()));
  if (pairs.object().items.size() > kMaxMetadata) {
    return fields.Refuse("metadata", "'metadata' may have at most 16 pairs.");
  }
  for (const auto& [key, text] : pairs.object().items) {
    const std::string& name = *key.If<std::string>();
    const auto* content = text.If<std::string>();
    if (name.size() > kMaxMetadataKeyBytes || content == nullptr ||
        content->size() > kMaxMetadataValueBytes) {
      return fields.Refuse("metadata",
                           "'metadata' must have keys of at most 64 bytes and strings "
                           "of at most 512 bytes as values.");
    }
  }
  return ToJson(*value);
}

bool IsToolName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolNameBytes && IsWireId(name);
}

Result<model::ToolDeclaration> ReadFunction(const FieldReader& fields) {
  model::ToolDeclaration tool;
  TRY_ASSIGN(tool.name, fields.RequiredText("name"));
  if (!IsToolName(tool.name)) {
    return fields.Refuse(
        "name", "'" + fields.PlaceOf("name") + "' must be 1 to 64 letters, digits, '_', '-'.");
  }
  TRY_ASSIGN(tool.description, fields.TextOr("description", ""));
  if (const Value* schema = fields.Find("parameters")) {
    if (schema->If<Dict>() == nullptr) {
      return fields.Refuse("parameters",
                           "'" + fields.PlaceOf("parameters") + "' must be an object.",
                           "invalid_type");
    }
    tool.input_schema = *schema;
  } else {
    tool.input_schema = Object({{"type", "object"}, {"properties", Dict()}});
  }
  return tool;
}

// Functions of the client become its tools. "mcp" and "code_interpreter" mean tools that the agent
// has anyway: a `server_url` is never contacted.
Result<void> ReadTools(const FieldReader& fields, TurnSpec& turn) {
  TRY_ASSIGN(const std::vector<Value>* tools, fields.Array("tools", kMaxTools));
  std::set<std::string> names;
  for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    TRY_ASSIGN(const FieldReader tool,
               FieldReader::Open((*tools)[i], ElementPlace("tools", i), fields.refusal()));
    TRY_ASSIGN(const std::string type, tool.RequiredText("type"));
    if (type == "mcp" || type == "code_interpreter") continue;
    if (type != "function") {
      return tool.Refuse("type",
                         "Tools of type '" + type +
                             "' are not supported; the agent's own "
                             "tools are configured at the server, and a client may add functions.",
                         "unsupported_parameter");
    }
    TRY_ASSIGN(model::ToolDeclaration function, ReadFunction(tool));
    if (!names.insert(function.name).second) {
      return tool.Refuse("name", "There are two tools with the name '" + function.name + "'.");
    }
    turn.client_tools.push_back(std::move(function));
  }
  return {};
}

std::optional<model::ToolChoice::Mode> ModeOf(std::string_view name) {
  using enum model::ToolChoice::Mode;
  if (name == "auto") return kAuto;
  if (name == "none") return kNone;
  if (name == "required") return kRequired;
  return std::nullopt;
}

// {"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}
Result<void> ReadAllowedTools(const FieldReader& choice, TurnSpec& turn) {
  TRY_ASSIGN(const std::string mode, choice.TextOr("mode", "auto"));
  const auto known = ModeOf(mode);
  if (!known) return choice.Refuse("mode", "'tool_choice.mode' must be auto or required.");
  turn.tool_choice.mode = *known;
  TRY_ASSIGN(const std::vector<Value>* tools, choice.Array("tools", kMaxTools));
  std::set<std::string> allowed;
  for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    TRY_ASSIGN(
        const FieldReader tool,
        FieldReader::Open((*tools)[i], ElementPlace("tool_choice.tools", i), choice.refusal()));
    TRY_ASSIGN(const std::string name, tool.TextOr("name", ""));
    allowed.insert(name);
  }
  std::erase_if(turn.client_tools, [&](const auto& tool) { return !allowed.contains(tool.name); });
  return {};
}

Result<void> ReadToolChoice(const FieldReader& fields, TurnSpec& turn) {
  const Value* value = fields.Find("tool_choice");
  if (value == nullptr) return {};
  if (const auto* name = value->If<std::string>()) {
    const auto mode = ModeOf(*name);
    if (!mode)
      return fields.Refuse("tool_choice",
                           "'tool_choice' must be auto, none, required or an object.");
    turn.tool_choice.mode = *mode;
    return {};
  }
  TRY_ASSIGN(const FieldReader choice, FieldReader::Open(*value, "tool_choice", fields.refusal()));
  TRY_ASSIGN(const std::string type, choice.RequiredText("type"));
  if (type == "allowed_tools") return ReadAllowedTools(choice, turn);
  turn.tool_choice.mode = model::ToolChoice::Mode::kNamed;
  if (type == "function" || type == "mcp") {
    TRY_ASSIGN(turn.tool_choice.name, choice.RequiredText("name"));
    return {};
  }
  if (type == "code_interpreter") {
    turn.tool_choice.name = "execute_code";
    return {};
  }
  return choice.Refuse("type", "'tool_choice.type' '" + type + "' is not supported.",
                       "unsupported_parameter");
}

// Fields that would change the answer in a way that agents cannot.
Result<void> RefuseUnsupported(const FieldReader& fields) {
  if (fields.Find("prompt") != nullptr) {
    return fields.Refuse("prompt", "Stored prompts are not supported; send 'instructions'.",
                         "unsupported_parameter");
  }
  const Value* text = fields.Find("text");
  if (text == nullptr) return {};
  TRY_ASSIGN(const FieldReader options, FieldReader::Open(*text, "text", fields.refusal()));
  const Value* format = options.Find("format");
  if (format == nullptr) return {};
  TRY_ASSIGN(const FieldReader chosen, FieldReader::Open(*format, "text.format", fields.refusal()));
  TRY_ASSIGN(const std::string type, chosen.TextOr("type", "text"));
  if (type == "text") return {};
  return chosen.Refuse("type",
                       "Agents answer with text; the format '" + type + "' is not supported.",
                       "unsupported_parameter");
}

// A conversation is an id or {"id": …}.
Result<void> ReadPlace(const FieldReader& fields, TurnSpec& turn) {
  if (fields.Find("previous_response_id") != nullptr) {
    TRY_ASSIGN(std::string id, fields.RequiredId("previous_response_id"));
    turn.previous = ResponseId(std::move(id));
  }
  const Value* conversation = fields.Find("conversation");
  if (conversation == nullptr) return {};
  if (conversation->If<Dict>() != nullptr) {
    TRY_ASSIGN(const FieldReader named,
               FieldReader::Open(*conversation, "conversation", fields.refusal()));
    TRY_ASSIGN(std::string id, named.RequiredId("id"));
    turn.conversation = ConversationId(std::move(id));
  } else {
    TRY_ASSIGN(std::string id, fields.RequiredId("conversation"));
    turn.conversation = ConversationId(std::move(id));
  }
  if (!turn.previous) return {};
  return fields.Refuse("previous_response_id",
                       "'previous_response_id' and 'conversation' exclude "
                       "each other; send one of them.",
                       "mutually_exclusive_parameters");
}

Result<void> ReadNumbers(const FieldReader& fields, TurnSpec& turn) {
  TRY_ASSIGN(turn.parallel_tool_calls, fields.Flag("parallel_tool_calls"));
  TRY_ASSIGN(turn.max_output_tokens, fields.Count("max_output_tokens", 1));
  TRY_ASSIGN(const auto calls, fields.Count("max_tool_calls", 1));
  if (calls) turn.max_calls = static_cast<std::uint32_t>(std::min<std::uint64_t>(*calls, 1u << 30));
  TRY_ASSIGN(turn.temperature, fields.Number("temperature", 0, 2));
  TRY_ASSIGN(turn.top_p, fields.Number("top_p", 0, 1));
  return {};
}

Result<void> ReadStyle(const FieldReader& fields, CreateRequest& request) {
  TRY_ASSIGN(const auto stream, fields.Flag("stream"));
  TRY_ASSIGN(const auto store, fields.Flag("store"));
  TRY_ASSIGN(const auto background, fields.Flag("background"));
  request.stream = stream.value_or(false);
  request.turn.keep = store.value_or(true) ? TurnSpec::Keep::kYes : TurnSpec::Keep::kNo;
  if (!background.value_or(false)) return {};
  request.turn.style = TurnSpec::Style::kBackground;
  if (request.turn.keep == TurnSpec::Keep::kYes) return {};
  return fields.Refuse("background", "'background' needs 'store': nobody could fetch the answer.",
                       "unsupported_parameter");
}

Result<std::string> Echo(const FieldReader& fields) {
  JsonObject echo;
  for (const std::string_view name : kEchoed) {
    const Value* value = fields.Find(name);
    if (value == nullptr) continue;
    auto json = ToJson(*value);
    if (!json) return fields.Refuse(name, json.error().message());
    echo.Put(name, *json);
  }
  std::string text = echo.Finish();
  if (text.size() <= kMaxEchoBytes) return text;
  return fields.Refuse("tools", "The fields besides 'input' take more than 1 MiB.");
}

Result<CreateRequest> Read(const Value& body, ApiError& refusal) {
  const auto* object = body.If<Dict>();
  if (object == nullptr) {
    refusal = InvalidValue("", "The body must be a JSON object.");
    return Error(ErrorCode::kInvalidArgument, refusal.message);
  }
  const FieldReader fields(*object, "", refusal);
  CreateRequest request;
  TRY_ASSIGN(request.model, fields.TextOr("model", ""));
  TRY(RefuseUnsupported(fields));
  TRY(ReadStyle(fields, request));
  TRY(ReadPlace(fields, request.turn));
  TRY(ReadNumbers(fields, request.turn));
  TRY(ReadTools(fields, request.turn));
  TRY(ReadToolChoice(fields, request.turn));
  TRY(ReadMetadata(fields));
  TRY_ASSIGN(request.turn.instructions, fields.TextOr("instructions", ""));
  TRY_ASSIGN(request.session, fields.TextOr("agent_session_id", ""));
  if (fields.Find("response_id") != nullptr) {
    TRY_ASSIGN(std::string id, fields.RequiredId("response_id"));
    request.turn.id = ResponseId(std::move(id));
  }
  if (const Value* input = fields.Find("input")) {
    TRY_ASSIGN(request.input, ReadInput(*input, "input", refusal));
  } else if (!request.turn.previous && !request.turn.conversation) {
    return fields.Refuse("input", "Missing required parameter: 'input'.",
                         "missing_required_parameter");
  }
  TRY_ASSIGN(request.echo, Echo(fields));
  return request;
}

Result<ConversationRequest> ReadConversation(const Value& body, ApiError& refusal) {
  ConversationRequest request;
  if (body.is_none()) return request;
  const auto* object = body.If<Dict>();
  if (object == nullptr) {
    refusal = InvalidValue("", "The body must be a JSON object.");
    return Error(ErrorCode::kInvalidArgument, refusal.message);
  }
  const FieldReader fields(*object, "", refusal);
  TRY_ASSIGN(request.metadata, ReadMetadata(fields));
  const Value* items = fields.Find("items");
  if (items == nullptr) return request;
  TRY_ASSIGN(std::vector<InputItem> input, ReadInput(*items, "items", refusal));
  for (InputItem& item : input) {
    auto* own = std::get_if<TurnItem>(&item);
    if (own == nullptr) return fields.Refuse("items", "'items' cannot refer to other items.");
    // A decision belongs to a turn, which executes it.
    if (std::holds_alternative<ApprovalAnswer>(own->content)) {
      return fields.Refuse("items", "An mcp_approval_response must be the input of a response.");
    }
    request.items.push_back(std::move(*own));
  }
  return request;
}

}  // namespace

std::optional<CreateRequest> ReadCreateRequest(std::string_view body, ApiError& refusal) {
  const auto value = ParseBody(body, refusal);
  if (!value) return std::nullopt;
  auto request = Read(*value, refusal);
  if (!request) return std::nullopt;
  return *std::move(request);
}

std::optional<ConversationRequest> ReadConversationRequest(std::string_view body,
                                                           ApiError& refusal) {
  if (body.empty()) return ConversationRequest();
  const auto value = ParseBody(body, refusal);
  if (!value) return std::nullopt;
  auto request = ReadConversation(*value, refusal);
  if (!request) return std::nullopt;
  return *std::move(request);
}

}  // namespace caisson::responses
