#include "runs/journal/outcome_record.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "wire/canonical_json.h"
#include "wire/fields.h"

namespace caisson {
namespace {

template <typename T>
List ToList(const std::vector<T>& items, Dict (*to_dict)(const T&)) {
  List list;
  for (const T& item : items) list.items.emplace_back(to_dict(item));
  return list;
}

template <typename T>
std::vector<T> FromList(Fields& fields, std::string_view name, T (*from)(Fields&)) {
  std::vector<T> items;
  const List list = fields.Get<List>(name);
  for (const Value& value : list.items) {
    static const Dict kNone;
    const auto* dict = value.If<Dict>();
    Fields item(dict != nullptr ? *dict : kNone);
    items.push_back(from(item));
    if (!item.good()) fields.Get<List>("");  // There is no such field: not good.
  }
  return items;
}

// Whatever a result or argument nests, an encoding of its own keeps our levels out of its count.
Bytes Enclosed(const Value& value) {
  Bytes bytes;
  if (!EncodeValue(value, bytes.data)) bytes.data.clear();
  return bytes;
}

// Null beyond what an outcome shows (engine/outcome.h). The journal has all of them.
class KeptArguments {
 public:
  bool Keep(const Value& arguments) {
    constexpr std::size_t kMostDecodedPerByte = 20;  // A small int: 40 bytes, and 2 as text.
    if (DecodedBytes(arguments) > kMostDecodedPerByte * kMaxOutcomeArgumentBytes) return false;
    const auto text = CanonicalJson(arguments);
    if (!text || text->size() > std::min(kMaxOutcomeArgumentBytes, left_)) return false;
    left_ -= text->size();
    return true;
  }

 private:
  std::size_t left_ = kMaxOutcomeArgumentsBytes;
};
Value Disclosed(const Bytes& bytes) {
  DecodeBudget budget(kAnyDecodedBytes);  // It was decoded from a bounded message before.
  auto value = DecodeValue(bytes.data, budget);
  return value ? *std::move(value) : Value();
}

Dict FindingToDict(const Finding& finding) {
  return Dict{{{"rule", Bytes{finding.rule}},
               {"message", Bytes{finding.message}},
               {"line", finding.line},
               {"column", finding.column},
               {"hint", Bytes{finding.hint}}}};
}
Finding ToFinding(Fields& fields) {
  return {.rule = fields.Get<Bytes>("rule").data,
          .message = fields.Get<Bytes>("message").data,
          .line = fields.Get<std::int64_t>("line"),
          .column = fields.Get<std::int64_t>("column"),
          .hint = fields.Get<Bytes>("hint").data};
}

Dict FileToDict(const OutcomeFile& file) {
  return Dict{{{"path", Bytes{file.path}},
               {"change", Bytes{file.change}},
               {"size", static_cast<std::int64_t>(file.size)},
               {"omitted", Bytes{file.omitted}}}};
}
OutcomeFile ToFile(Fields& fields) {
  return {.path = fields.Get<Bytes>("path").data,
          .change = fields.Get<Bytes>("change").data,
          .size = fields.Number<std::uint64_t>("size"),
          .omitted = fields.Get<Bytes>("omitted").data};
}

Dict CallToDict(const OutcomeCall& call, KeptArguments& kept) {
  return Dict{{{"seq", std::int64_t{call.seq}},
               {"tool", Bytes{call.tool}},
               {"arguments", Enclosed(kept.Keep(call.arguments) ? call.arguments : Value())},
               {"outcome", Bytes{call.outcome}},
               {"duration", std::int64_t{call.duration.count()}}}};
}
List CallsToList(const std::vector<OutcomeCall>& calls) {
  List list;
  KeptArguments kept;
  for (const OutcomeCall& call : calls) list.items.emplace_back(CallToDict(call, kept));
  return list;
}
OutcomeCall ToCall(Fields& fields) {
  return {.seq = fields.Number<std::uint32_t>("seq"),
          .tool = fields.Get<Bytes>("tool").data,
          .arguments = Disclosed(fields.Get<Bytes>("arguments")),
          .outcome = fields.Get<Bytes>("outcome").data,
          .duration = std::chrono::nanoseconds(fields.Get<std::int64_t>("duration"))};
}

Dict MissingToDict(const std::string& missing) {
  return Dict{{{"name", Bytes{missing}}}};
}
std::string ToMissing(Fields& fields) {
  return fields.Get<Bytes>("name").data;
}

Dict ErrorToDict(const RunError& error) {
  Dict dict{{{"type", Bytes{error.type}},
             {"message", Bytes{error.message}},
             {"traceback", Bytes{error.traceback}}}};
  if (error.line) dict.items.emplace_back(std::string("line"), *error.line);
  return dict;
}
RunError ToError(const Dict& dict) {
  Fields fields(dict);
  return {.type = fields.Get<Bytes>("type").data,
          .message = fields.Get<Bytes>("message").data,
          .line = fields.GetOptional<std::int64_t>("line"),
          .traceback = fields.Get<Bytes>("traceback").data};
}

Dict UsageToDict(const Usage& usage) {
  return Dict{{{"wall", std::int64_t{usage.wall.count()}},
               {"cpu", std::int64_t{usage.cpu.count()}},
               {"queue", std::int64_t{usage.queue.count()}},
               {"start", std::int64_t{usage.start.count()}},
               {"peak", static_cast<std::int64_t>(usage.peak_memory_bytes)}}};
}
Usage ToUsage(const Dict& dict) {
  using std::chrono::nanoseconds;
  Fields fields(dict);
  return {.wall = nanoseconds(fields.Get<std::int64_t>("wall")),
          .cpu = nanoseconds(fields.Get<std::int64_t>("cpu")),
          .queue = nanoseconds(fields.Get<std::int64_t>("queue")),
          .start = nanoseconds(fields.Get<std::int64_t>("start")),
          .peak_memory_bytes = fields.Number<std::uint64_t>("peak")};
}

template <typename E>
E ToEnum(Fields& fields, std::string_view name, E last) {
  const auto number = fields.Get<std::int64_t>(name);
  if (number >= 0 && number <= static_cast<std::int64_t>(last)) return static_cast<E>(number);
  return last;
}

}  // namespace

std::string EncodeOutcome(const Outcome& outcome) {
  Dict dict{{{"run_id", outcome.run_id},
             {"status", static_cast<std::int64_t>(outcome.status)},
             {"reason", static_cast<std::int64_t>(outcome.reason)},
             {"stdout", Bytes{outcome.stdout_text}},
             {"stderr", Bytes{outcome.stderr_text}},
             {"stdout_truncated", outcome.stdout_truncated},
             {"stderr_truncated", outcome.stderr_truncated},
             {"findings", ToList(outcome.findings, FindingToDict)},
             {"files", ToList(outcome.files, FileToDict)},
             {"calls", CallsToList(outcome.calls)},
             {"engine", Bytes{outcome.boundary.engine}},
             {"tier", Bytes{outcome.boundary.tier}},
             {"missing", ToList(outcome.boundary.missing, MissingToDict)},
             {"usage", UsageToDict(outcome.usage)}}};
  if (outcome.result) dict.items.emplace_back(std::string("result"), Enclosed(*outcome.result));
  if (outcome.result_repr) {
    dict.items.emplace_back(std::string("result_repr"), Bytes{*outcome.result_repr});
  }
  if (outcome.error) dict.items.emplace_back(std::string("error"), ErrorToDict(*outcome.error));
  std::string bytes;
  if (!EncodeValue(Value(std::move(dict)), bytes)) std::abort();  // A few levels, all our own.
  return bytes;
}

Result<Outcome> DecodeOutcome(std::string_view bytes) {
  TRY_ASSIGN(const Dict dict, DecodeDict(bytes, "outcome of the run"));
  Fields fields(dict);
  Outcome outcome;
  outcome.run_id = fields.Get<std::string>("run_id");
  outcome.status = ToEnum(fields, "status", RunStatus::kCancelled);
  outcome.reason = ToEnum(fields, "reason", RunReason::kLost);
  outcome.stdout_text = fields.Get<Bytes>("stdout").data;
  outcome.stderr_text = fields.Get<Bytes>("stderr").data;
  outcome.stdout_truncated = fields.Get<bool>("stdout_truncated");
  outcome.stderr_truncated = fields.Get<bool>("stderr_truncated");
  outcome.findings = FromList(fields, "findings", ToFinding);
  outcome.files = FromList(fields, "files", ToFile);
  outcome.calls = FromList(fields, "calls", ToCall);
  outcome.boundary = {.engine = fields.Get<Bytes>("engine").data,
                      .tier = fields.Get<Bytes>("tier").data,
                      .missing = FromList(fields, "missing", ToMissing)};
  outcome.usage = ToUsage(fields.Get<Dict>("usage"));
  if (auto result = fields.GetOptional<Bytes>("result")) outcome.result = Disclosed(*result);
  if (auto repr = fields.GetOptional<Bytes>("result_repr")) outcome.result_repr = repr->data;
  if (auto error = fields.GetOptional<Dict>("error")) outcome.error = ToError(*error);
  if (!fields.good()) return Unreadable("outcome of the run");
  return outcome;
}

std::string EncodeSummary(const Outcome& outcome) {
  constexpr std::size_t kMostFileBytes = 64u << 10;
  constexpr std::size_t kFieldBytes = 64;  // Names and numbers of one file.
  List files;
  std::size_t left = kMostFileBytes;
  for (const OutcomeFile& file : outcome.files) {
    const std::size_t size = file.path.size() + file.omitted.size() + kFieldBytes;
    if (size > left) break;  // Files are known by their number, so none is skipped.
    left -= size;
    files.items.emplace_back(FileToDict(file));
  }
  Dict dict{{{"status", static_cast<std::int64_t>(outcome.status)},
             {"reason", static_cast<std::int64_t>(outcome.reason)},
             {"files", std::move(files)}}};
  std::string bytes;
  if (!EncodeValue(Value(std::move(dict)), bytes)) std::abort();  // A few levels, all our own.
  return bytes;
}

Result<Outcome> DecodeSummary(std::string_view bytes) {
  TRY_ASSIGN(const Dict dict, DecodeDict(bytes, "summary of the run"));
  Fields fields(dict);
  Outcome outcome;
  outcome.status = ToEnum(fields, "status", RunStatus::kCancelled);
  outcome.reason = ToEnum(fields, "reason", RunReason::kLost);
  outcome.files = FromList(fields, "files", ToFile);
  if (!fields.good()) return Unreadable("summary of the run");
  return outcome;
}

RunEnd ToRunEnd(const Outcome& outcome) {
  RunEnd end{.outcome = EncodeOutcome(outcome), .summary = EncodeSummary(outcome)};
  for (const OutcomeFile& file : outcome.files) end.files.push_back(file.contents);
  return end;
}

std::size_t OutcomeBytes(const Outcome& outcome) {
  constexpr std::size_t kRecordBytes = 200;  // A call or a file, without arguments and contents.
  std::size_t bytes = outcome.stdout_text.size() + outcome.stderr_text.size();
  if (outcome.result) bytes += DecodedBytes(*outcome.result);
  if (outcome.result_repr) bytes += outcome.result_repr->size();
  for (const OutcomeFile& file : outcome.files) bytes += kRecordBytes + file.contents.size();
  for (const OutcomeCall& call : outcome.calls)
    bytes += kRecordBytes + DecodedBytes(call.arguments);
  return bytes;
}

}  // namespace caisson
