#include "workflow/declaration.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/closest.h"
#include "wire/object.h"
#include "workflow/builder.h"

namespace caisson {
namespace {

// Reads one table, and reports keys that nobody asked for.
class Table {
 public:
  Table(const LocatedValue& document, std::string pointer, const Value& value, std::string file,
        WorkflowBuilder& builder)
      : document_(document),
        pointer_(std::move(pointer)),
        file_(std::move(file)),
        dict_(value.If<Dict>()),
        builder_(builder) {
    if (dict_ == nullptr) builder_.Complain(Here(), "a table is expected here");
  }

  Place Here() const { return {file_, document_.LineOf(pointer_)}; }
  Place At(std::string_view key) const {
    return {file_, document_.LineOf(pointer_ + PointerStep(key))};
  }
  void Complain(std::string_view key, std::string_view what) {
    builder_.Complain(At(key), std::string(key) + " " + std::string(what));
  }

  const Value* Find(std::string_view key) {
    known_.push_back(key);
    return dict_ == nullptr ? nullptr : dict_->Find(key);
  }

  std::string Text(std::string_view key) {
    const Value* value = Find(key);
    if (value == nullptr) return {};
    if (const auto* text = value->If<std::string>()) return *text;
    Complain(key, "must be a string");
    return {};
  }
  std::string Required(std::string_view key) {
    const Value* value = dict_ == nullptr ? nullptr : dict_->Find(key);
    if (value == nullptr) builder_.Complain(Here(), std::string(key) + " is missing");
    return Text(key);
  }

  template <typename T>
  std::optional<T> Count(std::string_view key) {
    const Value* value = Find(key);
    if (value == nullptr) return std::nullopt;
    const auto* number = value->If<std::int64_t>();
    if (number != nullptr && *number > 0 &&
        static_cast<std::uint64_t>(*number) <= std::numeric_limits<T>::max()) {
      return static_cast<T>(*number);
    }
    Complain(key, "must be a whole number above 0");
    return std::nullopt;
  }

  // One string, or a list of them.
  std::vector<std::string> Names(std::string_view key) {
    const Value* value = Find(key);
    if (value == nullptr) {
      builder_.Complain(Here(), std::string(key) + " is missing");
      return {};
    }
    if (const auto* text = value->If<std::string>()) return {*text};
    std::vector<std::string> names;
    const auto* list = value->If<List>();
    for (const Value& item : list == nullptr ? std::vector<Value>() : list->items) {
      if (const auto* text = item.If<std::string>()) names.push_back(*text);
    }
    if (list == nullptr || names.empty() || names.size() != list->items.size()) {
      Complain(key, "must be a string or a list of strings");
      return {};
    }
    return names;
  }

  MessageType Type(std::string_view key) {
    const Value* value = Find(key);
    if (value == nullptr) return {};
    auto type = MessageType::FromSchema(*value);
    if (type) return *std::move(type);
    Complain(key, "is no type: " + type.error().message());
    return {};
  }

  std::optional<Schema> Condition(std::string_view key) {
    const Value* value = Find(key);
    if (value == nullptr) return std::nullopt;
    auto schema = Schema::Compile(*value);
    if (schema) return *std::move(schema);
    Complain(key, "is no JSON Schema: " + schema.error().message());
    return std::nullopt;
  }

  // Calls `read` with each table of a list.
  template <typename Read>
  void Each(std::string_view key, const Read& read) {
    const Value* value = Find(key);
    if (value == nullptr) return;
    const auto* list = value->If<List>();
    if (list == nullptr) return Complain(key, "must be a list of tables");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      Table table(document_, pointer_ + PointerStep(key) + "/" + std::to_string(i), list->items[i],
                  file_, builder_);
      read(table);
      table.Finish();
    }
  }

  template <typename Read>
  void Inner(std::string_view key, const Read& read) {
    const Value* value = Find(key);
    if (value == nullptr) return;
    Table table(document_, pointer_ + PointerStep(key), *value, file_, builder_);
    read(table);
    table.Finish();
  }

  void Finish() {
    for (const auto& [key, value] : dict_ == nullptr ? Dict().items : dict_->items) {
      const auto* name = key.If<std::string>();
      if (name == nullptr || std::ranges::find(known_, *name) != known_.end()) continue;
      builder_.Complain(At(*name), *name + " is not known" + DidYouMean(*name, known_));
    }
  }

 private:
  const LocatedValue& document_;
  const std::string pointer_;
  const std::string file_;
  const Dict* const dict_;
  WorkflowBuilder& builder_;
  std::vector<std::string_view> known_{};
};

std::optional<Step> ReadStep(Table& table, const FindWorkflow& find) {
  const std::string kind = table.Required("kind");
  if (kind == "code") return CodeStep{.code = table.Required("code")};
  if (kind == "tool") {
    const Value* arguments = table.Find("arguments");
    return ToolStep{.tool = table.Required("tool"),
                    .arguments = arguments == nullptr ? Value() : *arguments};
  }
  if (kind == "agent") return AgentStep{.agent = table.Required("agent")};
  if (kind == "request") return RequestStep{.prompt = table.Required("prompt")};
  if (kind == "workflow") {
    const std::string name = table.Required("workflow");
    SubWorkflowStep step{.workflow = find ? find(name) : nullptr};
    if (step.workflow) return step;
    if (!name.empty()) {
      table.Complain("workflow", "\"" + name +
                                     "\" is not known: a workflow can use those that were "
                                     "configured before it");
    }
    return std::nullopt;
  }
  if (!kind.empty()) {
    table.Complain("kind", "must be one of code, tool, agent, request, workflow");
  }
  return std::nullopt;
}

void ReadExecutor(Table& table, const FindWorkflow& find, WorkflowBuilder& builder) {
  std::string id = table.Required("id");
  auto step = ReadStep(table, find);
  Executor executor{.id = ExecutorId(std::move(id)),
                    .step = step ? *std::move(step) : Step(CodeStep{.code = "None"}),
                    .input = table.Type("input"),
                    .output = table.Type("output"),
                    .save_as = table.Text("save_as")};
  builder.Add(std::move(executor), table.Here());
}

void ReadEdge(Table& table, WorkflowBuilder& builder) {
  const std::vector<std::string> from = table.Names("from");
  const std::vector<std::string> to = table.Names("to");
  const auto when = table.Condition("when");
  const auto limit = table.Count<std::uint32_t>("limit");
  if (from.empty() || to.empty()) return;
  if (from.size() == 1) {
    for (const std::string& each : to) {
      builder.AddEdge(from[0], each, {.when = when, .limit = limit}, table.Here());
    }
    return;
  }
  if (to.size() > 1) table.Complain("to", "must be one executor if there are several in `from`");
  if (when || limit) {
    builder.Complain(table.Here(), "a fan-in takes neither `when` nor `limit`");
  }
  builder.AddFanIn(from, to[0], table.Here());
}

void ReadSwitch(Table& table, WorkflowBuilder& builder) {
  Switch one{.from = ExecutorId(table.Required("from")), .cases = {}};
  table.Each("cases", [&](Table& inner) {
    one.cases.push_back({.to = ExecutorId(inner.Required("to")),
                         .when = inner.Condition("when"),
                         .limit = inner.Count<std::uint32_t>("limit")});
  });
  if (std::string otherwise = table.Text("default"); !otherwise.empty()) {
    one.otherwise = ExecutorId(std::move(otherwise));
  }
  builder.AddSwitch(std::move(one), table.Here());
}

void ReadLimits(Table& table, WorkflowBuilder& builder) {
  WorkflowLimits limits;
  const auto read = [&]<typename T>(std::string_view key, T& out) {
    if (const auto count = table.Count<T>(key)) out = *count;
  };
  read("supersteps", limits.supersteps);
  read("messages", limits.messages);
  read("message_bytes", limits.message_bytes);
  read("state_bytes", limits.state_bytes);
  read("steps_at_once", limits.steps_at_once);
  builder.Limit(limits, table.Here());
}

}  // namespace

Result<std::shared_ptr<const Workflow>> ReadDeclaration(const LocatedValue& document,
                                                        std::string_view file_name,
                                                        const FindWorkflow& find) {
  const std::string file(file_name);
  const auto* dict = document.value.If<Dict>();
  const auto* name = dict == nullptr ? nullptr : FindAs<std::string>(*dict, "name");
  WorkflowBuilder builder(name == nullptr ? "" : *name, {file, document.LineOf("/name")});
  Table table(document, "", document.value, file, builder);
  table.Text("name");
  builder.Describe(table.Text("description"));
  if (std::string start = table.Text("start"); !start.empty()) {
    builder.Start(std::move(start), table.At("start"));
  }
  table.Inner("limits", [&](Table& inner) { ReadLimits(inner, builder); });
  table.Each("executor", [&](Table& inner) { ReadExecutor(inner, find, builder); });
  table.Each("edge", [&](Table& inner) { ReadEdge(inner, builder); });
  table.Each("switch", [&](Table& inner) { ReadSwitch(inner, builder); });
  table.Finish();
  return builder.Build();
}

}  // namespace caisson
