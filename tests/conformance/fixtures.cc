#include "tests/conformance/fixtures.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

// One red pixel, and a sound without samples.
constexpr std::string_view kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg"
    "==";
constexpr std::string_view kWav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

Value Json(std::string_view text) {
  return *ParseJson(text);
}
Dict JsonObject(std::string_view text) {
  return *Json(text).If<Dict>();
}

Dict Content(std::string_view blocks) {
  return Object({{"content", Json(blocks)}});
}

std::string Image() {
  return R"({"type":"image","mimeType":"image/png","data":")" + std::string(kPng) + R"("})";
}

asio::awaitable<void> ShortWhile() {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(50));
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

ToolFeature MakeTool(std::string_view name, std::string_view schema, UseHandler call) {
  return {.definition = Object({{"name", std::string(name)},
                                {"description", "For the conformance suite."},
                                {"inputSchema", Json(schema)}}),
          .call = std::move(call)};
}

constexpr std::string_view kNoArguments = R"({"type":"object"})";

asio::awaitable<Reply> Say(Dict result) {
  co_return result;
}

// A tool with a fixed answer.
ToolFeature Saying(std::string_view name, Dict result) {
  return MakeTool(name, kNoArguments, [result](Use, Exchange&) { return Say(result); });
}

std::string JsonText(const Value& value) {
  auto text = ToJson(value);
  return text ? *std::move(text) : std::string();
}

asio::awaitable<Reply> WithLogging(Use, Exchange& exchange) {
  exchange.Log(LogLevel::kInfo, "test", "Tool execution started");
  co_await ShortWhile();
  exchange.Log(LogLevel::kInfo, "test", "Tool processing data");
  co_await ShortWhile();
  exchange.Log(LogLevel::kInfo, "test", "Tool execution completed");
  co_return TextResult("Tool with logging executed successfully");
}

asio::awaitable<Reply> WithProgress(Use, Exchange& exchange) {
  for (const std::int64_t done : {0, 50, 100}) {
    if (done > 0) co_await ShortWhile();
    exchange.Progress(done, Value(100), "");
  }
  co_return TextResult("Tool with progress executed successfully");
}

asio::awaitable<Reply> Sampling(Use use, Exchange& exchange) {
  const Value prompt(*FindAs<std::string>(use.arguments, "prompt"));
  const Dict message =
      Object({{"role", "user"}, {"content", Object({{"type", "text"}, {"text", prompt}})}});
  const auto answer = co_await exchange.Ask(
      "sampling/createMessage", Object({{"messages", List{{Value(message)}}}, {"maxTokens", 100}}));
  if (!answer) co_return ErrorResult(answer.error().message());
  const auto* fields = answer->If<Dict>();
  const auto* content = fields == nullptr ? nullptr : FindAs<Dict>(*fields, "content");
  const auto* text = content == nullptr ? nullptr : FindAs<std::string>(*content, "text");
  co_return TextResult("LLM response: " + (text == nullptr ? std::string() : *text));
}

// Asks for what `schema` describes and reports the answer after `prefix`.
asio::awaitable<Reply> Elicit(std::string message, Value schema, std::string prefix,
                              Exchange& exchange) {
  const auto answer = co_await exchange.Ask(
      "elicitation/create",
      Object({{"message", std::move(message)}, {"requestedSchema", std::move(schema)}}));
  if (!answer) co_return ErrorResult(answer.error().message());
  const auto* fields = answer->If<Dict>();
  const Value* action = fields == nullptr ? nullptr : fields->Find("action");
  const Value* content = fields == nullptr ? nullptr : fields->Find("content");
  const auto* word = action == nullptr ? nullptr : action->If<std::string>();
  co_return TextResult(prefix + "action=" + (word == nullptr ? "none" : *word) +
                       ", content=" + JsonText(content == nullptr ? Value(Dict()) : *content));
}

constexpr std::string_view kUserSchema = R"({"type":"object","properties":{
"username":{"type":"string","description":"User's response"},
"email":{"type":"string","description":"User's email address"}},"required":["username","email"]})";

constexpr std::string_view kDefaultsSchema = R"({"type":"object","properties":{
"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
"score":{"type":"number","default":95.5},
"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
"verified":{"type":"boolean","default":true}}})";

constexpr std::string_view kEnumsSchema = R"({"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
 {"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},
 {"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}})";

// The questions of the modern era's tools, by key.
constexpr std::string_view kAskName =
    R"({"method":"elicitation/create","params":{"mode":"form","message":"What is your name?",
"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}})";
constexpr std::string_view kAskStep1 =
    R"({"method":"elicitation/create","params":{"mode":"form","message":"Step 1: What is your name?",
"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}})";
constexpr std::string_view kAskStep2 =
    R"({"method":"elicitation/create","params":{"mode":"form","message":"Step 2: What is your favorite color?",
"requestedSchema":{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}}})";
constexpr std::string_view kAskConfirm =
    R"({"method":"elicitation/create","params":{"mode":"form","message":"Please confirm",
"requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}})";
constexpr std::string_view kAskContext =
    R"({"method":"elicitation/create","params":{"mode":"form","message":"What context should the prompt use?",
"requestedSchema":{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}}})";
constexpr std::string_view kAskCapital =
    R"({"method":"sampling/createMessage","params":{"messages":[{"role":"user",
"content":{"type":"text","text":"What is the capital of France?"}}],"maxTokens":100}})";
constexpr std::string_view kAskGreeting =
    R"({"method":"sampling/createMessage","params":{"messages":[{"role":"user",
"content":{"type":"text","text":"Generate a greeting"}}],"maxTokens":50}})";
constexpr std::string_view kAskRoots = R"({"method":"roots/list","params":{}})";

// Returns the content of an accepted form; null if there is none or it was not accepted.
const Dict* Accepted(const Dict& responses, std::string_view key) {
  const auto* response = FindAs<Dict>(responses, key);
  const auto* action = response == nullptr ? nullptr : FindAs<std::string>(*response, "action");
  if (action == nullptr || *action != "accept") return nullptr;
  return FindAs<Dict>(*response, "content");
}

std::string FieldOf(const Dict* fields, std::string_view key) {
  const auto* text = fields == nullptr ? nullptr : FindAs<std::string>(*fields, key);
  return text == nullptr ? std::string() : *text;
}

asio::awaitable<Reply> AskForName(Use use, Exchange&) {
  const std::string name = FieldOf(Accepted(use.input_responses, "user_name"), "name");
  if (name.empty()) co_return InputRequired(Object({{"user_name", Json(kAskName)}}), {});
  co_return TextResult("Hello, " + name + "!");
}

asio::awaitable<Reply> AskForSampling(Use use, Exchange&) {
  const Value* answer = use.input_responses.Find("capital_question");
  if (answer == nullptr) {
    co_return InputRequired(Object({{"capital_question", Json(kAskCapital)}}), {});
  }
  co_return TextResult("The model says: " + JsonText(*answer));
}

asio::awaitable<Reply> AskForRoots(Use use, Exchange&) {
  const Value* answer = use.input_responses.Find("client_roots");
  if (answer == nullptr) co_return InputRequired(Object({{"client_roots", Json(kAskRoots)}}), {});
  co_return TextResult("The roots are " + JsonText(*answer));
}

// Asks only questions that the client supports.
asio::awaitable<Reply> AskByCapabilities(Use use, Exchange& exchange) {
  if (!use.input_responses.items.empty()) co_return TextResult("Thank you.");
  Dict requests;
  if (exchange.caller().Can("elicitation")) Append(requests, "user_name", Json(kAskName));
  if (exchange.caller().Can("sampling")) Append(requests, "capital_question", Json(kAskCapital));
  if (exchange.caller().Can("roots")) Append(requests, "client_roots", Json(kAskRoots));
  if (requests.items.empty()) co_return TextResult("There is nobody to ask.");
  co_return InputRequired(std::move(requests), {});
}

asio::awaitable<Reply> MissingCapability(Use, Exchange& exchange) {
  if (exchange.caller().Can("sampling")) co_return TextResult("The client can sample.");
  co_return RpcError{.code = RpcCode::kMissingCapability,
                     .message = "this needs the client's capability sampling",
                     .data = Object({{"requiredCapabilities", Object({{"sampling", Dict()}})}})};
}

// Tools whose questions carry a state: sealed, and bound to the tool.
class StatefulTools {
 public:
  explicit StatefulTools(const KeyRing& keys) : keys_(keys) {}

  asio::awaitable<Reply> RequestState(std::string tool, Use use) const {
    if (!use.request_state) {
      co_return InputRequired(Object({{"confirm", Json(kAskConfirm)}}), Seal(tool, "confirm"));
    }
    if (Open(tool, *use.request_state) != "confirm") co_return Refused();
    if (Accepted(use.input_responses, "confirm") == nullptr) {
      co_return InputRequired(Object({{"confirm", Json(kAskConfirm)}}), Seal(tool, "confirm"));
    }
    co_return TextResult("state-ok");
  }

  asio::awaitable<Reply> MultipleInputs(std::string tool, Use use) const {
    const Dict requests = Object({{"user_name", Json(kAskName)},
                                  {"greeting", Json(kAskGreeting)},
                                  {"client_roots", Json(kAskRoots)}});
    if (!use.request_state) co_return InputRequired(requests, Seal(tool, "all"));
    if (Open(tool, *use.request_state) != "all") co_return Refused();
    for (const auto& [key, request] : requests.items) {
      if (use.input_responses.Find(*key.If<std::string>()) == nullptr) {
        co_return InputRequired(requests, Seal(tool, "all"));
      }
    }
    co_return TextResult("All inputs received: " + JsonText(Value(use.input_responses)));
  }

  asio::awaitable<Reply> MultiRound(std::string tool, Use use) const {
    if (!use.request_state) {
      co_return InputRequired(Object({{"step1", Json(kAskStep1)}}), Seal(tool, "1"));
    }
    const std::string round = Open(tool, *use.request_state);
    if (round == "1") {
      if (Accepted(use.input_responses, "step1") == nullptr) {
        co_return InputRequired(Object({{"step1", Json(kAskStep1)}}), Seal(tool, "1"));
      }
      co_return InputRequired(Object({{"step2", Json(kAskStep2)}}), Seal(tool, "2"));
    }
    if (round != "2") co_return Refused();
    if (Accepted(use.input_responses, "step2") == nullptr) {
      co_return InputRequired(Object({{"step2", Json(kAskStep2)}}), Seal(tool, "2"));
    }
    co_return TextResult("Both steps are done.");
  }

 private:
  static RpcError Refused() { return InvalidParams("requestState was not issued by this server"); }
  std::string Seal(const std::string& tool, std::string_view text) const {
    auto sealed = keys_.Seal(KeyPurpose::kRequestState, "fixture " + tool, text);
    return sealed ? EncodeBase64Url(*sealed) : std::string();
  }
  std::string Open(const std::string& tool, const std::string& carried) const {
    const auto sealed = DecodeBase64Url(carried);
    if (!sealed) return {};
    auto text = keys_.Open(KeyPurpose::kRequestState, "fixture " + tool, *sealed);
    return text ? *std::move(text) : std::string();
  }

  const KeyRing& keys_;
};

class FixtureResources final : public ResourceFeature {
 public:
  asio::awaitable<Reply> List(std::optional<std::string> cursor, Exchange&) override {
    if (cursor) co_return InvalidParams("the cursor is unknown");
    co_return JsonObject(R"({"resources":[
{"uri":"test://static-text","name":"Static text","description":"A text.","mimeType":"text/plain"},
{"uri":"test://static-binary","name":"Static binary","description":"A picture.","mimeType":"image/png"},
{"uri":"test://watched-resource","name":"Watched","description":"A text to subscribe to.","mimeType":"text/plain"}]})");
  }

  caisson::List Templates() const override {
    return *Json(R"([{"uriTemplate":"test://template/{id}/data","name":"Template",
"description":"Data by id.","mimeType":"application/json"}])")
                .If<caisson::List>();
  }

  asio::awaitable<std::optional<caisson::List>> Read(std::string uri, Exchange&) override {
    constexpr std::string_view kStart = "test://template/";
    constexpr std::string_view kEnd = "/data";
    if (uri == "test://static-text" || uri == "test://watched-resource") {
      co_return One({{"uri", uri},
                     {"mimeType", "text/plain"},
                     {"text", "This is the content of the static text resource."}});
    }
    if (uri == "test://static-binary") {
      co_return One({{"uri", uri}, {"mimeType", "image/png"}, {"blob", std::string(kPng)}});
    }
    if (uri.starts_with(kStart) && uri.ends_with(kEnd) &&
        uri.size() > kStart.size() + kEnd.size()) {
      const std::string id = uri.substr(kStart.size(), uri.size() - kStart.size() - kEnd.size());
      const Dict data =
          Object({{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}});
      co_return One(
          {{"uri", uri}, {"mimeType", "application/json"}, {"text", JsonText(Value(data))}});
    }
    co_return std::nullopt;
  }

 private:
  static caisson::List One(std::initializer_list<std::pair<std::string_view, Value>> fields) {
    return {{Value(Object(fields))}};
  }
};

Dict Message(Value content) {
  return Object({{"role", "user"}, {"content", std::move(content)}});
}

Dict Messages(std::vector<Value> contents) {
  List messages;
  for (Value& content : contents) messages.items.emplace_back(Message(std::move(content)));
  return Object({{"messages", std::move(messages)}});
}

Value Text(std::string text) {
  return Object({{"type", "text"}, {"text", std::move(text)}});
}

PromptFeature MakePrompt(std::string_view name, std::string_view arguments, UseHandler get) {
  return {.definition = Object({{"name", std::string(name)},
                                {"description", "For the conformance suite."},
                                {"arguments", Json(arguments)}}),
          .get = std::move(get)};
}

asio::awaitable<Reply> SimplePrompt(Use, Exchange&) {
  co_return Messages({Text("This is a simple prompt for testing.")});
}

asio::awaitable<Reply> PromptWithArguments(Use use, Exchange&) {
  co_return Messages({Text("Prompt with arguments: arg1='" + FieldOf(&use.arguments, "arg1") +
                           "', arg2='" + FieldOf(&use.arguments, "arg2") + "'")});
}

asio::awaitable<Reply> PromptWithResource(Use use, Exchange&) {
  const Dict resource = Object({{"uri", FieldOf(&use.arguments, "resourceUri")},
                                {"mimeType", "text/plain"},
                                {"text", "Embedded resource content for testing."}});
  co_return Messages({Object({{"type", "resource"}, {"resource", resource}}),
                      Text("Please process the embedded resource above.")});
}

asio::awaitable<Reply> PromptWithImage(Use, Exchange&) {
  co_return Messages({Json(Image()), Text("Please analyze the image above.")});
}

asio::awaitable<Reply> AskingPrompt(Use use, Exchange&) {
  const std::string context = FieldOf(Accepted(use.input_responses, "user_context"), "context");
  if (context.empty()) co_return InputRequired(Object({{"user_context", Json(kAskContext)}}), {});
  co_return Messages({Text("The context is " + context + ".")});
}

constexpr std::string_view kSchema2020 =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},
"else":{"required":["email"]},"additionalProperties":false})";

void AddTools(const KeyRing& keys, std::vector<ToolFeature>& tools) {
  const std::string embedded = R"({"type":"resource","resource":{"uri":"test://embedded-resource",
"mimeType":"text/plain","text":"This is an embedded resource content."}})";
  const std::string mixed = R"({"type":"resource","resource":{"uri":"test://mixed-content-resource",
"mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}})";
  tools.push_back(
      Saying("test_simple_text", TextResult("This is a simple text response for testing.")));
  tools.push_back(Saying("test_image_content", Content("[" + Image() + "]")));
  tools.push_back(
      Saying("test_audio_content", Content(R"([{"type":"audio","mimeType":"audio/wav","data":")" +
                                           std::string(kWav) + R"("}])")));
  tools.push_back(Saying("test_embedded_resource", Content("[" + embedded + "]")));
  tools.push_back(Saying("test_multiple_content_types",
                         Content(R"([{"type":"text","text":"Multiple content types test:"},)" +
                                 Image() + "," + mixed + "]")));
  tools.push_back(Saying("test_error_handling",
                         ErrorResult("This tool intentionally returns an error for testing")));
  tools.push_back(MakeTool("test_tool_with_logging", kNoArguments, WithLogging));
  tools.push_back(MakeTool("test_logging_tool", kNoArguments, WithLogging));
  tools.push_back(MakeTool("test_tool_with_progress", kNoArguments, WithProgress));
  tools.push_back(MakeTool(
      "test_sampling",
      R"({"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]})",
      Sampling));
  tools.push_back(MakeTool(
      "test_elicitation",
      R"({"type":"object","properties":{"message":{"type":"string"}},"required":["message"]})",
      [](Use use, Exchange& exchange) {
        return Elicit(FieldOf(&use.arguments, "message"), Json(kUserSchema),
                      "User response: ", exchange);
      }));
  tools.push_back(
      MakeTool("test_elicitation_sep1034_defaults", kNoArguments, [](Use, Exchange& exchange) {
        return Elicit("Please review these values", Json(kDefaultsSchema),
                      "Elicitation completed: ", exchange);
      }));
  tools.push_back(
      MakeTool("test_elicitation_sep1330_enums", kNoArguments, [](Use, Exchange& exchange) {
        return Elicit("Please choose", Json(kEnumsSchema), "Elicitation completed: ", exchange);
      }));
  tools.push_back(MakeTool("test_missing_capability", kNoArguments, MissingCapability));
  tools.push_back(MakeTool("test_streaming_elicitation", kNoArguments, AskForName));
  tools.push_back(Saying("json_schema_2020_12_tool", TextResult("ok")));
  tools.back() = MakeTool("json_schema_2020_12_tool", kSchema2020, tools.back().call);
  tools.push_back(MakeTool("test_input_required_result_elicitation", kNoArguments, AskForName));
  tools.push_back(MakeTool("test_input_required_result_sampling", kNoArguments, AskForSampling));
  tools.push_back(MakeTool("test_input_required_result_list_roots", kNoArguments, AskForRoots));
  tools.push_back(
      MakeTool("test_input_required_result_capabilities", kNoArguments, AskByCapabilities));

  const auto stateful = std::make_shared<const StatefulTools>(keys);  // Shared by their handlers.
  using Method = asio::awaitable<Reply> (StatefulTools::*)(std::string, Use) const;
  const std::pair<std::string, Method> methods[] = {
      {"test_input_required_result_request_state", &StatefulTools::RequestState},
      {"test_input_required_result_tampered_state", &StatefulTools::RequestState},
      {"test_input_required_result_multiple_inputs", &StatefulTools::MultipleInputs},
      {"test_input_required_result_multi_round", &StatefulTools::MultiRound},
  };
  for (const auto& [name, method] : methods) {
    tools.push_back(MakeTool(name, kNoArguments, [stateful, name, method](Use use, Exchange&) {
      return ((*stateful).*method)(name, std::move(use));
    }));
  }
}

void AddPrompts(std::vector<PromptFeature>& prompts) {
  prompts.push_back(MakePrompt("test_simple_prompt", "[]", SimplePrompt));
  prompts.push_back(
      MakePrompt("test_prompt_with_arguments",
                 R"([{"name":"arg1","description":"First test argument","required":true},
{"name":"arg2","description":"Second test argument","required":true}])",
                 PromptWithArguments));
  prompts.push_back(MakePrompt(
      "test_prompt_with_embedded_resource",
      R"([{"name":"resourceUri","description":"URI of the resource to embed","required":true}])",
      PromptWithResource));
  prompts.push_back(MakePrompt("test_prompt_with_image", "[]", PromptWithImage));
  prompts.push_back(MakePrompt("test_input_required_result_prompt", "[]", AskingPrompt));
}

}  // namespace

void AddConformanceFixtures(const KeyRing& keys, Features& features) {
  AddTools(keys, features.tools);
  AddPrompts(features.prompts);
  features.resources = std::make_unique<FixtureResources>();
  features.complete = [](const Dict&) {
    return JsonObject(
        R"({"completion":{"values":["paris","park","party"],"total":3,"hasMore":false}})");
  };
}

}  // namespace caisson::mcp
