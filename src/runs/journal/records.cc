#include "runs/journal/records.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "wire/fields.h"
#include "wire/value.h"

namespace caisson {
namespace {

std::int64_t ToNumber(SystemTime time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}
SystemTime ToTime(std::int64_t number) {
  return SystemTime(
      std::chrono::duration_cast<SystemTime::duration>(std::chrono::nanoseconds(number)));
}

// Our own values nest a few levels; those that cells and tools made are encoded elsewhere.
std::string MustEncode(Dict dict) {
  std::string bytes;
  if (!EncodeValue(Value(std::move(dict)), bytes)) std::abort();
  return bytes;
}

constexpr std::array kCounts = {
    std::pair("memory_bytes", &Limits::memory_bytes),
    std::pair("processes", &Limits::processes),
    std::pair("open_files", &Limits::open_files),
    std::pair("code_bytes", &Limits::code_bytes),
    std::pair("stdout_bytes", &Limits::stdout_bytes),
    std::pair("stderr_bytes", &Limits::stderr_bytes),
    std::pair("result_bytes", &Limits::result_bytes),
    std::pair("file_bytes", &Limits::file_bytes),
    std::pair("total_file_bytes", &Limits::total_file_bytes),
    std::pair("files", &Limits::files),
    std::pair("tool_calls", &Limits::tool_calls),
    std::pair("message_bytes", &Limits::message_bytes),
};

constexpr std::string_view kAsyncDelivery = "async_delivery";

Dict LimitsToDict(const Limits& limits) {
  Dict dict{{{"wall_ns", std::int64_t{limits.wall_time.count()}},
             {"cpu_ns", std::int64_t{limits.cpu_time.count()}}}};
  for (const auto& [name, member] : kCounts) {
    dict.items.emplace_back(std::string(name), static_cast<std::int64_t>(limits.*member));
  }
  return dict;
}

Result<Limits> LimitsFromDict(const Dict& dict) {
  Fields fields(dict);
  Limits limits;
  limits.wall_time = std::chrono::nanoseconds(fields.Get<std::int64_t>("wall_ns"));
  limits.cpu_time = std::chrono::nanoseconds(fields.Get<std::int64_t>("cpu_ns"));
  for (const auto& [name, member] : kCounts) limits.*member = fields.Number<std::uint64_t>(name);
  if (!fields.good()) return Unreadable("limits of the run");
  return limits;
}

// Names rather than numbers: another build may have more variables. Values are strangers' bytes.
Dict ContextToDict(const CallerRecord& record) {
  Dict dict;
  for (const auto& [variable, value] : record.values) {
    dict.items.emplace_back(EnvironmentName(variable), Bytes{value});
  }
  if (record.async_delivery) {
    dict.items.emplace_back(std::string(kAsyncDelivery),
                            *record.async_delivery == AsyncDelivery::kSupported);
  }
  return dict;
}

Result<CallerRecord> ContextFromDict(const Dict& dict) {
  Fields fields(dict);
  CallerRecord record;
  for (const CallerVariable variable : AllCallerVariables()) {
    if (auto value = fields.GetOptional<Bytes>(EnvironmentName(variable))) {
      record.values.emplace_back(variable, std::move(value->data));
    }
  }
  if (const auto supported = fields.GetOptional<bool>(kAsyncDelivery)) {
    record.async_delivery = *supported ? AsyncDelivery::kSupported : AsyncDelivery::kUnsupported;
  }
  if (!fields.good()) return Unreadable("session of the run");
  return record;
}

Dict ToDict(const std::vector<InputFile>& files) {
  Dict dict;
  for (const InputFile& file : files) dict.items.emplace_back(file.path, Bytes{*file.contents});
  return dict;
}

Result<std::vector<InputFile>> FilesFromDict(const Dict& dict) {
  std::vector<InputFile> files;
  for (const auto& [path, contents] : dict.items) {
    const auto* name = path.If<std::string>();
    const auto* bytes = contents.If<Bytes>();
    if (name == nullptr || bytes == nullptr) return Unreadable("input files of the run");
    files.push_back({.path = *name, .contents = std::make_shared<const std::string>(bytes->data)});
  }
  return files;
}

}  // namespace

std::string Encode(const RunRecord& record) {
  Dict dict{{{"code", Bytes{record.code}},
             {"limits", LimitsToDict(record.limits)},
             {"setting", record.setting}}};
  if (record.session) dict.items.emplace_back(std::string("session"), *record.session);
  if (record.seed) dict.items.emplace_back(std::string("seed"), Bytes{*record.seed});
  if (record.caller) {
    dict.items.emplace_back(std::string("context"), ContextToDict(*record.caller));
  }
  if (record.call) {
    dict.items.emplace_back(std::string("tool"), record.call->tool);
    dict.items.emplace_back(std::string("arguments"), Bytes{record.call->packed});
  }
  if (!record.inputs.empty()) dict.items.emplace_back(std::string("inputs"), ToDict(record.inputs));
  return MustEncode(std::move(dict));
}

Result<RunRecord> DecodeRunRecord(std::string_view bytes) {
  TRY_ASSIGN(const Dict dict, DecodeDict(bytes, "request of the run"));
  Fields fields(dict);
  RunRecord record{.code = fields.Get<Bytes>("code").data};
  record.session = fields.GetOptional<std::string>("session");
  record.setting = fields.Get<std::string>("setting");
  if (auto seed = fields.GetOptional<Bytes>("seed")) record.seed = std::move(seed->data);
  if (const auto context = fields.GetOptional<Dict>("context")) {
    TRY_ASSIGN(record.caller, ContextFromDict(*context));
  }
  if (auto tool = fields.GetOptional<std::string>("tool")) {
    record.call = {.tool = *std::move(tool), .packed = fields.Get<Bytes>("arguments").data};
  }
  if (const auto inputs = fields.GetOptional<Dict>("inputs")) {
    TRY_ASSIGN(record.inputs, FilesFromDict(*inputs));
  }
  TRY_ASSIGN(record.limits, LimitsFromDict(fields.Get<Dict>("limits")));
  if (!fields.good()) return Unreadable("request of the run");
  return record;
}

std::string Encode(const CallerRecord& record) {
  return MustEncode(ContextToDict(record));
}

Result<CallerRecord> DecodeCallerRecord(std::string_view bytes) {
  TRY_ASSIGN(const Dict dict, DecodeDict(bytes, "session of the run"));
  return ContextFromDict(dict);
}

Result<std::string> Encode(const AnswerRecord& record) {
  Tuple tuple{
      {Value(ToNumber(record.at)), Value(static_cast<std::int64_t>(record.answer.index()))}};
  if (const auto* value = std::get_if<Value>(&record.answer)) {
    tuple.items.push_back(*value);
  } else if (const auto* raised = std::get_if<ToolRaised>(&record.answer)) {
    tuple.items.emplace_back(Tuple{{Value(raised->type), Value(raised->message)}});
  } else {
    tuple.items.emplace_back(std::get<ToolDenied>(record.answer).message);
  }
  std::string bytes;
  TRY(EncodeValue(Value(std::move(tuple)), bytes));
  return bytes;
}

Result<AnswerRecord> DecodeAnswerRecord(std::string_view bytes) {
  const Error unreadable = Unreadable("recorded answer");
  DecodeBudget budget(kAnyDecodedBytes);  // It was bounded when it was recorded.
  auto value = DecodeValue(bytes, budget);
  auto* tuple = value ? std::get_if<Tuple>(&value->variant()) : nullptr;
  if (tuple == nullptr || tuple->items.size() != 3) return unreadable;
  const auto* at = tuple->items[0].If<std::int64_t>();
  const auto* kind = tuple->items[1].If<std::int64_t>();
  if (at == nullptr || kind == nullptr) return unreadable;
  AnswerRecord record{.answer = Value(), .at = ToTime(*at)};
  Value& content = tuple->items[2];
  if (*kind == 0) {
    record.answer = std::move(content);
    return record;
  }
  if (*kind == 2) {
    const auto* message = content.If<std::string>();
    if (message == nullptr) return unreadable;
    record.answer = ToolDenied{*message};
    return record;
  }
  const auto* raised = content.If<Tuple>();
  if (*kind != 1 || raised == nullptr || raised->items.size() != 2) return unreadable;
  const auto* type = raised->items[0].If<std::string>();
  const auto* message = raised->items[1].If<std::string>();
  if (type == nullptr || message == nullptr) return unreadable;
  record.answer = ToolRaised{.type = *type, .message = *message};
  return record;
}

std::string Encode(std::span<const TracePart> parts) {
  std::string bytes;
  for (const TracePart& part : parts) {
    for (const auto number : {part.seq, static_cast<std::uint32_t>(part.bytes.size())}) {
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    bytes.append(part.bytes);
  }
  return bytes;
}

Result<std::vector<TracePart>> DecodeTrace(std::string_view bytes) {
  std::vector<TracePart> parts;
  while (!bytes.empty()) {
    std::uint32_t seq = 0;
    std::uint32_t size = 0;
    if (bytes.size() < sizeof seq + sizeof size) return Unreadable("recorded trace");
    std::memcpy(&seq, bytes.data(), sizeof seq);
    std::memcpy(&size, bytes.data() + sizeof seq, sizeof size);
    bytes.remove_prefix(sizeof seq + sizeof size);
    if (size > bytes.size()) return Unreadable("recorded trace");
    parts.push_back({.seq = seq, .bytes = std::string(bytes.substr(0, size))});
    bytes.remove_prefix(size);
  }
  return parts;
}

std::string Encode(const SleepRecord& record) {
  Dict dict{{{"stdout", Bytes{record.stdout_text}},
             {"stderr", Bytes{record.stderr_text}},
             {"active_ns", std::int64_t{record.active.count()}},
             {"waited_ns", std::int64_t{record.waited.count()}},
             {"cell", Bytes{record.cell.bytes}},
             {"tail", Bytes{record.cell.tail}}}};
  const auto add_time = [&dict](std::string name, const std::optional<SystemTime>& time) {
    if (time) dict.items.emplace_back(std::move(name), ToNumber(*time));
  };
  add_time("sleeps_since", record.sleeps_since);
  add_time("wake_at", record.cell.wake_at);
  return MustEncode(std::move(dict));
}

Result<SleepRecord> DecodeSleepRecord(std::string_view bytes) {
  TRY_ASSIGN(const Dict dict, DecodeDict(bytes, "sleeping run"));
  Fields fields(dict);
  SleepRecord record{.stdout_text = fields.Get<Bytes>("stdout").data,
                     .stderr_text = fields.Get<Bytes>("stderr").data,
                     .active = std::chrono::nanoseconds(fields.Get<std::int64_t>("active_ns")),
                     .waited = std::chrono::nanoseconds(fields.Get<std::int64_t>("waited_ns")),
                     .cell = {.bytes = fields.Get<Bytes>("cell").data}};
  if (auto tail = fields.GetOptional<Bytes>("tail")) record.cell.tail = std::move(tail->data);
  const auto get_time = [&fields](std::string_view name) -> std::optional<SystemTime> {
    const auto number = fields.GetOptional<std::int64_t>(name);
    return number ? std::optional(ToTime(*number)) : std::nullopt;
  };
  record.sleeps_since = get_time("sleeps_since");
  record.cell.wake_at = get_time("wake_at");
  if (!fields.good()) return Unreadable("sleeping run");
  return record;
}

}  // namespace caisson
