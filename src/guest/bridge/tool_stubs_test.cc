// The view of code on tools that the host describes, and the calls of them that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "guest/testing/fake_holder.h"

namespace caisson {
namespace {

using testing::HasSubstr;

Value Str(std::string_view text) {
  return Value(std::string(text));
}

struct Param {
  const char* name;
  const char* annotation;
  std::int64_t presence = 0;
  Value fallback{};
  std::vector<const char*> types{};
  bool keyword_only = false;
};

Value Entry(const char* name, Value description) {
  Bytes encoded;
  EXPECT_TRUE(EncodeValue(description, encoded.data));
  return Tuple{{Str(name), std::move(encoded)}};
}

Value Tool(const char* name, const std::vector<Param>& params, bool more = false) {
  List parameters;
  for (const Param& param : params) {
    List types;
    for (const char* type : param.types) types.items.push_back(Str(type));
    parameters.items.emplace_back(
        Tuple{{Str(param.name), Str(param.annotation), Value(param.presence), param.fallback,
               std::move(types), Value(param.keyword_only)}});
  }
  Dict tool;
  tool.items.emplace_back(Str("name"), Str(name));
  tool.items.emplace_back(Str("doc"), Str("Does it."));
  tool.items.emplace_back(Str("returns"), Str("dict"));
  tool.items.emplace_back(Str("more"), Value(more));
  tool.items.emplace_back(Str("parameters"), std::move(parameters));
  return Entry(name, std::move(tool));
}

HolderOptions Described() {
  const std::vector<Param> params = {
      {.name = "to", .annotation = "str", .types = {"string"}},
      {.name = "count",
       .annotation = "int",
       .presence = 1,
       .fallback = std::int64_t{3},
       .types = {"integer"}},
      {.name = "tags", .annotation = "list[str] | None", .presence = 2, .types = {"array", "null"}},
      {.name = "content-type", .annotation = "str", .presence = 2},
      {.name = "rate", .annotation = "float", .types = {"number"}, .keyword_only = true},
  };
  return {.described_tools =
              List{{Tool("send", params), Tool("free", {}, true),
                    Tool("print", {{.name = "page", .annotation = "int"}}),
                    Tool("un-named", {{.name = "x", .annotation = "int", .types = {"integer"}}})}}};
}

// Returns the text of each finding about a tool, or how the code ended if there is none.
std::string Findings(
    const std::string& code, const HolderOptions& options,
    const std::function<std::string(const std::string& message, const std::string& hint)>& show) {
  const Held held = Hold(code, options);
  const Value* findings = held.Field("findings");
  if (findings == nullptr) return held.End();
  EXPECT_EQ(held.calls, 0) << code;
  std::string out;
  for (const Value& item : findings->If<List>()->items) {
    const Dict& finding = *item.If<Dict>();
    EXPECT_EQ(*finding.Find("rule"), Str("tool")) << code;
    if (!out.empty()) out += "; ";
    out +=
        show(*finding.Find("message")->If<std::string>(), *finding.Find("hint")->If<std::string>());
  }
  return out;
}

// Returns only the messages, for calls of send().
std::string Refusals(const std::string& code, const HolderOptions& options = Described()) {
  return Findings(code, options, [&](const std::string& message, const std::string& hint) {
    EXPECT_EQ(
        hint,
        "call it as send(to: str, count: int = 3, tags: list[str] | None = ..., content-type: "
        "str = ..., *, rate: float) -> dict")
        << code;
    return message;
  });
}

TEST(ToolStubs, AreFunctionsWithASignature) {
  EXPECT_EQ(
      Hold("import inspect\nstr(inspect.signature(send))", Described()).ResultJson(),
      "\"(to: 'str', count: 'int' = 3, tags: 'list[str] | None' = Ellipsis, *, rate: 'float') -> "
      "'dict'\"");
  EXPECT_EQ(Hold("import inspect\nstr(inspect.signature(free))", Described()).ResultJson(),
            "\"(**more) -> 'dict'\"");
  EXPECT_EQ(
      Hold("[send.__doc__, send.__name__, send.__annotations__['to']]", Described()).ResultJson(),
      "[\"Does it.\",\"send\",\"str\"]");
  EXPECT_EQ(Hold("echo.__annotations__").Error("type"), "AttributeError");
  EXPECT_THAT(Hold("echo.__doc__").ResultJson(), HasSubstr("A tool of the host"));
}

TEST(ToolStubs, DoNotHideBuiltins) {
  const Held held = Hold("print('text')", Described());
  EXPECT_EQ(held.out, "text\n");
}

TEST(ToolStubs, GoodCallsArePosted) {
  for (const char* code : {
           "send('ann', rate=1.5)",
           "send('ann', 5, ['a'], rate=2)",
           "send(to='ann', rate=-1.5, tags=None)",
           "send(name, rate=f(), count=n) if 0 else None",
           "send(*a, **k) if 0 else None",
           "send(**{'to': 'ann', 'rate': 1, 'content-type': 'x'})",
           "call_tool('send', {'to': 'a', 'rate': 1})",
           "call_tool('send', {'to': 'a'}, rate=1)",
           "call_tool('send', to='a', rate=1, **{'content-type': 'x'})",
           "call_tool('send', d) if 0 else None",
           "call_tool('unknown', 1) if 0 else None",
           "free(a=1, b=[])",
           "await send('ann', rate=1)",
           "send('ann', rate=1, count=3.0)",
       }) {
    const std::string end = Refusals(code);
    EXPECT_TRUE(end == "raised" || end == "returned") << code << ": " << end;
  }
}

TEST(ToolStubs, BadCallsAreFindings) {
  EXPECT_EQ(Refusals("send()"), "send() needs the argument to; send() needs the argument rate");
  EXPECT_EQ(Refusals("print('ran')\nsend('a', rate=1, subjet='x')"),
            "send() has no argument subjet");
  EXPECT_EQ(Refusals("send('a', to='b', rate=1)"), "send() gets to twice");
  EXPECT_EQ(Refusals("send('a', 1, [], 'text/plain', 2.5, rate=2)"),
            "send() has too many arguments without a name");
  EXPECT_EQ(Refusals("send(5, rate='fast')"),
            "send(): to has a value of the wrong type; send(): rate has a value of the wrong type");
  for (const char* value :
       {"'3'", "1.5", "None", "True", "[1]", "{}", "f'{x}'", "[x for x in y]"}) {
    EXPECT_EQ(Refusals("send('a', rate=1, count=" + std::string(value) + ")"),
              "send(): count has a value of the wrong type")
        << value;
  }
  EXPECT_EQ(Refusals("await send()\n").substr(0, 6), "send()");
  EXPECT_EQ(Refusals("def f():\n    return [send('a') for _ in x]"),
            "send() needs the argument rate");
  EXPECT_EQ(Refusals("call_tool('send', {'to': 'a', 'rat': 1})"),
            "send() needs the argument rate; send() has no argument rat");
  EXPECT_EQ(Refusals("call_tool('send', to=1, rate=1)"),
            "send(): to has a value of the wrong type");
}

// "message (hint)" of each finding.
std::string Found(const std::string& code, const HolderOptions& options) {
  return Findings(code, options, [](const std::string& message, const std::string& hint) {
    return message + " (" + hint + ")";
  });
}

TEST(ToolStubs, TheContentsOfLiteralsAreChecked) {
  const HolderOptions options{
      .described_tools = List{{Tool(
          "put", {{.name = "items", .annotation = "list[float]", .presence = 2, .types = {"array"}},
                  {.name = "kind", .annotation = R"(Literal["a", "b", 1] | None)", .presence = 2},
                  {.name = "sizes", .annotation = "dict[str, list[int]]", .presence = 2}})}}};
  for (const char* given :
       {"items=['a']", "items=[1, [2]]", "items=(None,)", "kind='c'", "kind=True", "kind=['a']",
        "sizes={'a': 1}", "sizes={'a': [1], 'b': ['x']}", "sizes=[1]",
        "sizes={**{'a': 1}, 'b': [2]}", "sizes={**{'a': [1]}, 'b': 2}", "sizes={**[1]}",
        "sizes={**{**{'a': 1}}}"}) {
    EXPECT_THAT(Found("put(" + std::string(given) + ")", options),
                HasSubstr("has a value of the wrong type (call it as put(items: list[float] = ..."))
        << given;
  }
  for (const char* given :
       {"items=[1, 2.5]", "items=[]", "items=[x, f()]", "items=[*xs, -1]", "kind='a'", "kind=1.0",
        "kind=None", "kind=k", "kind=f'{k}'", "sizes={}", "sizes={'a': [1], **d}", "items=xs",
        "sizes={**{'a': [1]}, 'b': [2]}", "sizes={**{}, **{**d, 'a': [1]}}"}) {
    EXPECT_EQ(Found("x = xs = d = k = 1\nif 0: put(" + std::string(given) + ")", options),
              "returned")
        << given;
  }
}

TEST(ToolStubs, AToolThatIsNoFunctionIsCalledByItsName) {
  EXPECT_EQ(Found("call_tool('un-named', {'x': 'a'})", Described()),
            "un-named(): x has a value of the wrong type (call it as call_tool(\"un-named\", "
            "{\"x\": int}) -> dict)");
  EXPECT_THAT(Found("call_tool('print')", Described()), HasSubstr("call_tool(\"print\", {"));
}

TEST(ToolStubs, NamesThatTheCodeBindsAreItsOwn) {
  for (const char* code : {
           "def send(): return 1\nsend()",
           "send = lambda: 1\nsend()",
           "def f(send): return send()\nf(int)",
           "for send in [int]: send()",
           "from math import floor as send\nsend(1.5)",
       }) {
    EXPECT_EQ(Refusals(code), "returned") << code;
  }
}

TEST(ToolStubs, ADescribedToolNamedLikeABuiltinUnlocksNothing) {
  HolderOptions options = {
      .described_tools = List{{Tool("compile", {{.name = "x", .annotation = "str"}})}},
      .more = Dict{{{Str("policy"), Value(std::int64_t{1})}}}};
  EXPECT_EQ(Hold("compile('1', '', 'eval')", options).End(), "rejected");
  options.described_tools = {};
  options.tools = {"compile"};
  EXPECT_EQ(Hold("compile('x')", options).calls, 1) << "a bare name is the tool";
  EXPECT_EQ(Hold("del compile\ncompile('1', '', 'eval')", options).End(), "rejected");
}

TEST(ToolStubs, EntriesOfAnotherFormAreLeftOut) {
  HolderOptions options;
  options.described_tools =
      List{{Value(std::int64_t{5}), Dict{}, Tuple{{Str("a")}}, Tuple{{Str("a"), Str("no bytes")}},
            Tuple{{Bytes{"x"}, Bytes{"x"}}}}};
  EXPECT_EQ(Hold("echo(1)", options).ResultJson(), "1");
  EXPECT_EQ(Hold("a()", options).Error("type"), "NameError");
}

TEST(ToolStubs, ADescriptionOfAnotherFormIsNone) {
  HolderOptions options;
  options.described_tools =
      List{{Entry("a", Dict{{{Str("name"), Str("a")}}}),
            Entry("b", Dict{{{Str("name"), Str("b")}, {Str("parameters"), List{{Str("x")}}}}})}};
  EXPECT_EQ(Hold("a(1)", options).calls, 1);
  EXPECT_EQ(Hold("b(2)", options).calls, 1);
}

TEST(ToolStubs, ADescriptionIsReadOnlyIfItIsAskedFor) {
  HolderOptions options;
  options.described_tools = List{{Tuple{{Str("a"), Bytes{"\xff"}}}}};
  EXPECT_EQ(Hold("callable(a)", options).ResultJson(), "true");
  EXPECT_EQ(Hold("a.__doc__", options).Error("type"), "ValueError");
}

}  // namespace
}  // namespace caisson
