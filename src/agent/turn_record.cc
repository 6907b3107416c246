#include "agent/turn_record.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "agent/turn_items.h"
#include "runs/journal/records.h"
#include "wire/fields.h"

namespace caisson {
namespace {

constexpr std::string_view kWhat = "turn";

void Put(Dict& dict, std::string name, const std::string& text) {
  if (!text.empty()) dict.items.emplace_back(std::move(name), Bytes{text});
}
template <typename Number>
void PutNumber(Dict& dict, std::string name, Number number) {
  const auto value = static_cast<std::int64_t>(number);
  if (value != 0) dict.items.emplace_back(std::move(name), value);
}
void PutReal(Dict& dict, std::string name, const std::optional<double>& number) {
  if (number) dict.items.emplace_back(std::move(name), *number);
}

std::string Text(Fields& fields, std::string_view name) {
  auto bytes = fields.GetOptional<Bytes>(name);
  return bytes ? std::move(bytes->data) : std::string();
}
template <typename T>
T Number(Fields& fields, std::string_view name) {
  return static_cast<T>(fields.GetOptional<std::int64_t>(name).value_or(0));
}

Value Items(const std::vector<TurnItem>& items) {
  List list;
  list.items.reserve(items.size());
  for (const TurnItem& item : items) list.items.push_back(ToValue(item));
  return list;
}
Result<std::vector<TurnItem>> ItemsFrom(Fields& fields, std::string_view name) {
  const List list = fields.GetOptional<List>(name).value_or(List{});
  std::vector<TurnItem> items;
  for (const Value& value : list.items) {
    TRY_ASSIGN(TurnItem item, TurnItemFrom(value));
    items.push_back(std::move(item));
  }
  return items;
}

std::int64_t ToNumber(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}
SystemTime ToTime(std::int64_t number) {
  return SystemTime(
      std::chrono::duration_cast<SystemTime::duration>(std::chrono::microseconds(number)));
}

Value SpecToValue(const TurnRecord& record) {
  const TurnSpec& spec = record.spec;
  Dict dict;
  Put(dict, "instructions", spec.instructions);
  PutNumber(dict, "choice", spec.tool_choice.mode);
  Put(dict, "choice_name", spec.tool_choice.name);
  if (spec.parallel_tool_calls)
    dict.items.emplace_back(std::string("parallel"), *spec.parallel_tool_calls);
  PutNumber(dict, "max_output_tokens", spec.max_output_tokens.value_or(0));
  if (spec.max_calls)
    dict.items.emplace_back(std::string("max_calls"), std::int64_t{*spec.max_calls});
  PutReal(dict, "temperature", spec.temperature);
  PutReal(dict, "top_p", spec.top_p);
  List tools;
  for (const model::ToolDeclaration& tool : spec.client_tools) {
    Dict entry;
    Put(entry, "name", tool.name);
    Put(entry, "description", tool.description);
    std::string schema;
    if (!EncodeValue(tool.input_schema, schema)) continue;  // Refused when the turn began.
    Put(entry, "schema", schema);
    tools.items.emplace_back(std::move(entry));
  }
  if (!tools.items.empty()) dict.items.emplace_back(std::string("tools"), std::move(tools));
  if (record.caller) Put(dict, "caller", Encode(*record.caller));
  PutNumber(dict, "replies", record.progress.replies);
  PutNumber(dict, "calls", record.progress.calls);
  PutNumber(dict, "failures", record.progress.failures);
  PutNumber(dict, "active_ns", record.progress.active.count());
  if (!record.adopted.empty())
    dict.items.emplace_back(std::string("adopted"), Items(record.adopted));
  List decided;
  for (const ApprovalId& id : record.decided) decided.items.emplace_back(Bytes{id.str()});
  if (!decided.items.empty()) dict.items.emplace_back(std::string("decided"), std::move(decided));
  return dict;
}

Result<void> ReadSpec(const Dict& dict, TurnRecord& record) {
  Fields fields(dict);
  TurnSpec& spec = record.spec;
  spec.instructions = Text(fields, "instructions");
  spec.tool_choice.mode = Number<model::ToolChoice::Mode>(fields, "choice");
  spec.tool_choice.name = Text(fields, "choice_name");
  spec.parallel_tool_calls = fields.GetOptional<bool>("parallel");
  if (const auto most = Number<std::uint64_t>(fields, "max_output_tokens")) {
    spec.max_output_tokens = most;
  }
  if (const auto most = fields.GetOptional<std::int64_t>("max_calls")) {
    spec.max_calls = static_cast<std::uint32_t>(*most);
  }
  spec.temperature = fields.GetOptional<double>("temperature");
  spec.top_p = fields.GetOptional<double>("top_p");
  const List tools = fields.GetOptional<List>("tools").value_or(List{});
  for (const Value& value : tools.items) {
    const auto* entry = value.If<Dict>();
    if (entry == nullptr) return Unreadable(kWhat);
    Fields tool(*entry);
    TRY_ASSIGN(Value schema, DecodeValue(Text(tool, "schema")));
    spec.client_tools.push_back({.name = Text(tool, "name"),
                                 .description = Text(tool, "description"),
                                 .input_schema = std::move(schema)});
  }
  if (const std::string caller = Text(fields, "caller"); !caller.empty()) {
    TRY_ASSIGN(record.caller, DecodeCallerRecord(caller));
  }
  TRY_ASSIGN(record.adopted, ItemsFrom(fields, "adopted"));
  const List decided = fields.GetOptional<List>("decided").value_or(List{});
  for (const Value& value : decided.items) {
    if (const auto* id = value.If<Bytes>()) record.decided.emplace_back(id->data);
  }
  record.progress = {.replies = Number<std::uint32_t>(fields, "replies"),
                     .calls = Number<std::uint32_t>(fields, "calls"),
                     .failures = Number<std::uint32_t>(fields, "failures"),
                     .active = std::chrono::nanoseconds(Number<std::int64_t>(fields, "active_ns"))};
  if (!fields.good()) return Unreadable(kWhat);
  return {};
}

}  // namespace

std::string Encode(const TurnRecord& record) {
  const TurnView& view = record.view;
  Dict dict;
  Put(dict, "agent", view.agent);
  PutNumber(dict, "state", view.state);
  PutNumber(dict, "ending", view.ending);
  Put(dict, "error", view.error);
  dict.items.emplace_back(std::string("input"), Items(view.input));
  dict.items.emplace_back(std::string("output"), Items(view.output));
  PutNumber(dict, "input_tokens", view.usage.input);
  PutNumber(dict, "cached_input_tokens", view.usage.cached_input);
  PutNumber(dict, "output_tokens", view.usage.output);
  PutNumber(dict, "reasoning_tokens", view.usage.reasoning);
  Put(dict, "model", view.model);
  if (view.conversation) Put(dict, "conversation", view.conversation->str());
  PutNumber(dict, "style", view.style);
  Put(dict, "door_data", view.door_data);
  PutNumber(dict, "ended_at", ToNumber(view.ended_at));
  PutNumber(dict, "events", record.progress.events);
  if (!HasEnded(view.state)) dict.items.emplace_back(std::string("spec"), SpecToValue(record));
  std::string bytes;
  if (!EncodeValue(Value(std::move(dict)), bytes)) std::abort();  // It nests a few levels.
  return bytes;
}

Result<TurnRecord> DecodeTurnRecord(std::string_view bytes) {
  TRY_ASSIGN(const Dict dict, DecodeDict(bytes, kWhat));
  Fields fields(dict);
  TurnRecord record;
  TurnView& view = record.view;
  view.agent = Text(fields, "agent");
  view.state = Number<TurnState>(fields, "state");
  view.ending = Number<TurnEnding>(fields, "ending");
  view.error = Text(fields, "error");
  TRY_ASSIGN(view.input, ItemsFrom(fields, "input"));
  TRY_ASSIGN(view.output, ItemsFrom(fields, "output"));
  view.usage = {.input = Number<std::uint64_t>(fields, "input_tokens"),
                .cached_input = Number<std::uint64_t>(fields, "cached_input_tokens"),
                .output = Number<std::uint64_t>(fields, "output_tokens"),
                .reasoning = Number<std::uint64_t>(fields, "reasoning_tokens")};
  view.model = Text(fields, "model");
  if (std::string id = Text(fields, "conversation"); !id.empty()) {
    view.conversation = ConversationId(std::move(id));
  }
  view.style = Number<TurnSpec::Style>(fields, "style");
  view.door_data = Text(fields, "door_data");
  view.ended_at = ToTime(Number<std::int64_t>(fields, "ended_at"));
  if (const auto spec = fields.GetOptional<Dict>("spec")) TRY(ReadSpec(*spec, record));
  record.progress.events = Number<std::uint64_t>(fields, "events");
  if (!fields.good()) return Unreadable(kWhat);
  return record;
}

}  // namespace caisson
