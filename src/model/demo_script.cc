#include "model/demo_script.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "model/demo_arguments.h"
#include "model/demo_conversation.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::model {
namespace {

constexpr std::string_view kExecuteCode = "execute_code";
constexpr std::string_view kCall = "call ";
constexpr std::size_t kMaxQuoted = 4000;  // Bytes of results in one reply.
constexpr int kSteps = 3;
constexpr int kLongLines = 300;
constexpr int kWordsPerSecond = 10;
constexpr std::uint64_t kMaxSlowSeconds = 600;

constexpr std::string_view kSum =
    "total = sum(n * n for n in range(1, 11))\nprint(\"The squares of 1 to 10\")\ntotal\n";
constexpr std::string_view kFibonacci =
    "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n"
    "\n[fib(n) for n in range(10)]\n";
constexpr std::string_view kReport =
    "with open(\"/output/report.csv\", \"w\") as report:\n"
    "    report.write(\"month,sales\\nJanuary,10\\nFebruary,12\\n\")\n"
    "print(\"The report is written\")\n";
constexpr std::string_view kRaise = "raise ValueError(\"the demo raises on purpose\")\n";

class Script {
 public:
  explicit Script(const ModelRequest& request)
      : request_(request), seen_(ReadConversation(request)) {}

  Result<DemoReply> Write() {
    if (Has({"fail"})) {
      return Error(ErrorCode::kUnavailable, "the demo model fails, because the message asks it to");
    }
    if (MustCall() && seen_.results.empty()) {
      CallSample(request_.tool_choice.name);
    } else if (!WriteCalls()) {
      seen_.results.empty() ? WriteText() : QuoteResults();
    }
    Finish();
    return std::move(out_);
  }

 private:
  bool Has(std::initializer_list<std::string_view> beginnings) const {
    return std::ranges::any_of(beginnings, [&](std::string_view word) {
      for (std::size_t at = seen_.keywords.find(word); at != std::string::npos;
           at = seen_.keywords.find(word, at + 1)) {
        if (at == 0 || std::isalnum(static_cast<unsigned char>(seen_.keywords[at - 1])) == 0) {
          return true;
        }
      }
      return false;
    });
  }

  bool MustCall() const {
    const ToolChoice::Mode mode = request_.tool_choice.mode;
    return mode == ToolChoice::Mode::kRequired || mode == ToolChoice::Mode::kNamed;
  }
  bool MayCall() const {
    return !request_.tools.empty() && request_.tool_choice.mode != ToolChoice::Mode::kNone;
  }
  const ToolDeclaration* FindTool(std::string_view name) const {
    const auto found = std::ranges::find(request_.tools, name, &ToolDeclaration::name);
    return found == request_.tools.end() ? nullptr : &*found;
  }
  const ToolDeclaration* CodeTool() const { return MayCall() ? FindTool(kExecuteCode) : nullptr; }

  void Say(std::string text) {
    out_.reply.items.emplace_back(
        MessageItem{.role = Role::kAssistant, .parts = {TextPart{std::move(text)}}});
  }

  void Call(std::string name, std::string arguments) {
    const int number = ++seen_.all_calls;
    out_.reply.items.emplace_back(ToolCallItem{.call_id = "call_demo_" + std::to_string(number),
                                               .name = std::move(name),
                                               .arguments = std::move(arguments)});
  }
  void Call(std::string name, const Dict& arguments) {
    const auto text = ToJson(Value(arguments));
    Call(std::move(name), text ? *text : "{}");
  }
  void Execute(std::string_view code) {
    Call(std::string(kExecuteCode), Object({{"code", std::string(code)}}));
  }

  // Calls this tool, or with an empty name execute_code or the first tool.
  void CallSample(std::string_view name, std::string_view code = kSum) {
    if (name.empty() && FindTool(kExecuteCode) != nullptr) return Execute(code);
    if (name.empty() && request_.tools.empty()) return NoTool();
    if (name == kExecuteCode) return Execute(code);
    const ToolDeclaration* tool = name.empty() ? &request_.tools.front() : FindTool(name);
    Call(tool == nullptr ? std::string(name) : tool->name,
         tool == nullptr ? Dict{} : SampleArguments(tool->input_schema));
  }

  void NoTool() {
    std::string text = "No tool for this is declared. Declared tools:";
    for (const ToolDeclaration& tool : request_.tools) text.append(" ").append(tool.name);
    Say(text + (request_.tools.empty() ? " none." : "."));
  }

  // Writes the calls that the message asks for, if it asks for any that are not made yet.
  bool WriteCalls() {
    const bool first = seen_.calls == 0 && seen_.results.empty();
    if (Has({"endless"}) && MayCall()) {
      CallSample("");
      return true;
    }
    if (Has({"step"}) && MayCall() && seen_.calls < kSteps) {
      CallSample("", "print(\"step " + std::to_string(seen_.calls + 1) + "\")\n");
      return true;
    }
    if (!first) return false;
    return CallAsWritten() || CallWrongly() || CallTools();
  }

  // Calls exactly what the message says.
  bool CallAsWritten() {
    if (seen_.has_code) {
      if (CodeTool() == nullptr) return false;
      std::string_view code = seen_.prompt;
      code.remove_prefix(code.find("```") + 3);
      if (const std::size_t end = code.find("```"); end != code.npos) code = code.substr(0, end);
      // The language after the first fence.
      if (const std::size_t line = code.find('\n'); line != code.npos) code.remove_prefix(line + 1);
      Execute(code);
      return true;
    }
    if (!seen_.names_tool || !MayCall()) return false;
    std::string_view rest = std::string_view(seen_.prompt).substr(kCall.size());
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(end);
    const std::size_t brace = rest.find('{');
    if (brace == rest.npos) {
      CallSample(name);
    } else {
      Call(name, std::string(rest.substr(brace)));
    }
    return true;
  }

  bool CallWrongly() {
    if (!MayCall()) return false;
    if (Has({"malformed"})) {
      Call(request_.tools.front().name, "{\"code\": \"print(1)");
    } else if (Has({"missing"})) {
      Call("no_such_tool", "{}");
    } else if (Has({"raise"})) {
      CallSample("", kRaise);
    } else {
      return false;
    }
    return true;
  }

  bool CallTools() {
    if (!MayCall()) return false;
    if (Has({"parallel", "both"})) {
      CallBoth();
    } else if (Has({"email", "mail", "send"})) {
      Send();
    } else if (CodeTool() == nullptr || Has({"slow", "long", "reason", "think"})) {
      return false;
    } else if (Has({"fib"})) {
      Execute(kFibonacci);
    } else if (Has({"file", "report"})) {
      Execute(kReport);
    } else if (Has({"code", "comput", "calc"})) {
      Execute(kSum);
    } else {
      return false;
    }
    return true;
  }

  void CallBoth() {
    if (CodeTool() != nullptr) {
      Execute("print(\"first\")\n6 * 7\n");
      Execute("print(\"second\")\n7 * 8\n");
    } else {
      CallSample(request_.tools.front().name);
      CallSample(request_.tools.size() > 1 ? request_.tools[1].name : request_.tools[0].name);
    }
  }

  void Send() {
    if (const ToolDeclaration* code = CodeTool()) {
      std::string call = SendingCall(code->description);
      if (call.empty()) call = SendingCall(request_.instructions);
      return call.empty() ? NoTool() : Execute("result = " + call + "\nprint(result)\nresult\n");
    }
    const auto sends = [](const ToolDeclaration& tool) {
      return tool.name.find("send") != tool.name.npos || tool.name.find("mail") != tool.name.npos;
    };
    const auto tool = std::ranges::find_if(request_.tools, sends);
    tool == request_.tools.end() ? NoTool() : CallSample(tool->name);
  }

  void WriteText() {
    if (Has({"refuse"})) {
      out_.reply.items.emplace_back(MessageItem{
          .role = Role::kAssistant, .parts = {RefusalPart{"I cannot help with that."}}});
    } else if (Has({"censor"})) {
      Say("This text ends in the middle, because the filter ");
      out_.reply.finish = Finish::kContentFilter;
    } else if (Has({"slow"})) {
      Slowly();
    } else if (Has({"long"})) {
      std::string text;
      for (int line = 1; line <= kLongLines; ++line) {
        text.append("Line " + std::to_string(line) + " of a long text by the demo model.\n");
      }
      Say(std::move(text));
    } else if (Has({"reason", "think"})) {
      out_.reply.items.emplace_back(
          ReasoningItem{.text = "The user wants to see reasoning. I show two sentences of it."});
      Say("I have thought about it: " + seen_.prompt);
    } else if (Has({"endless", "step", "malformed", "missing", "raise", "parallel", "both", "email",
                    "mail", "send", "fib", "file", "report", "code", "comput", "calc"}) ||
               seen_.has_code || seen_.names_tool) {
      NoTool();
    } else {
      Say(seen_.prompt.empty() ? "Hello, this is the demo model. Ask me to compute something."
                               : "You said: " + seen_.prompt);
    }
  }

  void Slowly() {
    std::uint64_t seconds = 2;
    if (const std::size_t digit = seen_.prompt.find_first_of("0123456789");
        digit != std::string::npos) {
      seconds = 0;
      for (std::size_t i = digit; i < seen_.prompt.size() && seconds <= kMaxSlowSeconds; ++i) {
        if (std::isdigit(static_cast<unsigned char>(seen_.prompt[i])) == 0) break;
        seconds = seconds * 10 + static_cast<std::uint64_t>(seen_.prompt[i] - '0');
      }
      seconds = std::min(seconds, kMaxSlowSeconds);
    }
    std::string text;
    for (std::uint64_t word = 0; word < seconds * kWordsPerSecond; ++word) text.append("tick ");
    Say(std::move(text));
    out_.pause = std::chrono::milliseconds(1000 / kWordsPerSecond);
  }

  void QuoteResults() {
    std::string text;
    for (const ToolResultItem* result : seen_.results) {
      text.append(text.empty() ? "" : "\n");
      text.append(result->is_error ? "The tool reported an error: " : "The result is: ");
      text.append(TextOf(result->parts));
    }
    // Cut between two characters.
    if (text.size() > kMaxQuoted) {
      std::size_t end = kMaxQuoted;
      while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
      text.resize(end);
      text.append(" ...");
    }
    Say(std::move(text));
  }

  void Finish() {
    ModelReply& reply = out_.reply;
    reply.model = "demo";
    std::size_t words = 0;
    for (const Item& item : reply.items) {
      if (const auto* call = std::get_if<ToolCallItem>(&item)) {
        words += CountWords(call->arguments);
        reply.finish = Finish::kToolCalls;
      } else if (const auto* reasoning = std::get_if<ReasoningItem>(&item)) {
        reply.usage.reasoning = CountWords(reasoning->text);
        words += reply.usage.reasoning;
      }
    }
    reply.usage.input = seen_.words;
    reply.usage.output = words + CutTexts();
  }

  // Cuts the text at the requested number of words and returns how many are left.
  std::size_t CutTexts() {
    std::size_t words = 0;
    for (Item& item : out_.reply.items) {
      auto* message = std::get_if<MessageItem>(&item);
      if (message == nullptr) continue;
      auto* text = std::get_if<TextPart>(&message->parts.front());
      if (text == nullptr) continue;
      const auto pieces = CutIntoWords(text->text);
      const auto most = request_.max_output_tokens.value_or(pieces.size());
      words += std::min<std::size_t>(pieces.size(), most);
      if (pieces.size() <= most) continue;
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < most; ++i) bytes += pieces[i].size();
      text->text.resize(bytes);
      out_.reply.finish = Finish::kLength;
    }
    return words;
  }

  const ModelRequest& request_;
  DemoConversation seen_;
  DemoReply out_;
};

}  // namespace

Result<DemoReply> WriteDemoReply(const ModelRequest& request) {
  return Script(request).Write();
}

}  // namespace caisson::model
