#include "engine/outcome.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/base64.h"
#include "base/visible.h"
#include "wire/canonical_json.h"

namespace caisson {
namespace {

// Returns the length of the UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Refuses overlong forms, surrogates, and code points beyond U+10FFFF.
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

void AppendEscaped(char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= 0x20) {
    out += c;
    return;
  }
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u00";
  out += kHex[static_cast<unsigned char>(c) >> 4];
  out += kHex[static_cast<unsigned char>(c) & 15];
}

// Returns how many characters at the start of `text` need no escaping in JSON.
std::size_t PlainLength(std::string_view text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
}

void AppendString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = PlainLength(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = SequenceLength(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (length == 1) {
      AppendEscaped(text[0], out);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

// Writes {"key":value,...} and [value,...] and places the commas.
class Writer {
 public:
  std::string Take() && { return std::move(out_); }

  void Open(char bracket) {
    Comma();
    out_ += bracket;
    first_ = true;
  }
  void Close(char bracket) {
    out_ += bracket;
    first_ = false;
  }
  void Key(std::string_view key) {
    Comma();
    AppendString(key, out_);
    out_ += ':';
    first_ = true;
  }
  void Raw(std::string_view json) {
    Comma();
    out_ += json;
  }
  void String(std::string_view text) {
    Comma();
    AppendString(text, out_);
  }

  void Field(std::string_view key, std::string_view text) {
    Key(key);
    String(text);
  }
  void Field(std::string_view key, const char* text) { Field(key, std::string_view(text)); }
  void Field(std::string_view key, bool flag) {
    Key(key);
    Raw(flag ? "true" : "false");
  }
  template <std::integral T>
    requires(!std::is_same_v<T, bool>)
  void Field(std::string_view key, T number) {
    Key(key);
    Raw(std::to_string(number));
  }
  void Field(std::string_view key, std::chrono::nanoseconds time) {
    Field(key, std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  }

 private:
  void Comma() {
    if (!std::exchange(first_, false)) out_ += ',';
  }
  std::string out_;
  bool first_ = true;
};

// Writes null for a value that JSON cannot represent. Returns whether JSON can represent it.
bool AppendValue(const Value& value, Writer& out) {
  auto json = ToJson(value);
  out.Raw(json ? std::string_view(*json) : "null");
  return json.has_value();
}

void AppendResult(const Outcome& outcome, Writer& out) {
  out.Field("has_result", outcome.result.has_value() || outcome.result_repr.has_value());
  out.Key("result");
  bool shown = false;
  if (outcome.result) {
    shown = AppendValue(*outcome.result, out);
  } else {
    out.Raw("null");
  }
  out.Key("result_repr");
  if (outcome.result_repr) {
    out.String(*outcome.result_repr);
  } else if (outcome.result && !shown) {
    out.String("<a value JSON cannot hold>");
  } else {
    out.Raw("null");
  }
}

void AppendError(const std::optional<RunError>& error, Writer& out) {
  out.Key("error");
  if (!error) return out.Raw("null");
  out.Open('{');
  out.Field("type", error->type);
  out.Field("message", error->message);
  out.Key("line");
  out.Raw(error->line ? std::to_string(*error->line) : "null");
  out.Field("traceback", error->traceback);
  out.Close('}');
}

void AppendFinding(const Finding& finding, Writer& out) {
  out.Open('{');
  out.Field("rule", finding.rule);
  out.Field("message", finding.message);
  out.Field("line", finding.line);
  out.Field("column", finding.column);
  out.Field("hint", finding.hint);
  out.Close('}');
}

void AppendFile(const OutcomeFile& file, FileData file_data, Writer& out) {
  const bool whole = file.omitted.empty() && file.change != "deleted";
  out.Open('{');
  out.Field("path", file.path);
  out.Field("change", file.change);
  out.Field("size", file.size);
  out.Field("media_type", MediaType(file.path));
  out.Key("sha256");
  if (whole) {
    out.String(Sha256Hex(file.contents));
  } else {
    out.Raw("null");
  }
  if (whole && file_data == FileData::kInclude) out.Field("data", EncodeBase64(file.contents));
  if (!file.omitted.empty()) out.Field("omitted", file.omitted);
  out.Close('}');
}

// Writes tool and arguments of a call in the form that is hashed and shown to people: values that
// JSON cannot represent are marked, and invisible characters are escaped. Null: the arguments have
// no such form, were not kept, are above kMaxOutcomeArgumentBytes, or would take those of the
// outcome above kMaxOutcomeArgumentsBytes.
class ShownArguments {
 public:
  // nullopt: they are not shown.
  std::optional<std::string> Text(const Value& arguments) {
    if (arguments.is_none() || DecodedBytes(arguments) > kMaxShownDecodedBytes) return std::nullopt;
    auto shown = ShownJson(arguments);
    if (!shown || shown->size() > std::min(kMaxOutcomeArgumentBytes, left_)) return std::nullopt;
    left_ -= shown->size();
    return *std::move(shown);
  }

 private:
  // A small int takes 40 bytes decoded and 2 as text, so larger values are too long for certain.
  static constexpr std::size_t kMaxShownDecodedBytes = 20 * kMaxOutcomeArgumentBytes;

  std::size_t left_ = kMaxOutcomeArgumentsBytes;
};

void AppendAsked(const std::string& tool, const Value& arguments, ShownArguments& shown_arguments,
                 Writer& out) {
  std::string name;
  AppendString(tool, name);
  out.Key("tool");
  out.Raw(SpellOutDeceptive(name));
  const auto shown = shown_arguments.Text(arguments);
  out.Key("arguments");
  out.Raw(shown ? std::string_view(*shown) : "null");
  if (!shown) out.Field("arguments_omitted", true);
}

void AppendCall(const OutcomeCall& call, ShownArguments& shown, Writer& out) {
  out.Open('{');
  out.Field("seq", call.seq);
  AppendAsked(call.tool, call.arguments, shown, out);
  out.Field("outcome", call.outcome);
  out.Field("duration_us", call.duration);
  out.Close('}');
}

void AppendApproval(const OutcomeApproval& approval, ShownArguments& shown, Writer& out) {
  out.Open('{');
  out.Field("id", approval.id);
  out.Field("seq", approval.seq);
  AppendAsked(approval.tool, approval.arguments, shown, out);
  out.Field("expires_at", approval.expires_at);
  out.Close('}');
}

template <typename T, typename Append>
void AppendList(std::string_view key, const std::vector<T>& items, Writer& out, Append append) {
  out.Key(key);
  out.Open('[');
  for (const T& item : items) append(item);
  out.Close(']');
}

// An id is made for every run, so random bytes are fetched in blocks. Each byte is used once.
void TakeRandom(std::array<unsigned char, 10>& out) {
  static thread_local std::array<unsigned char, 640> pool;
  static thread_local std::size_t used = pool.size();
  if (used + out.size() > pool.size()) {
    // If this fails, ids still differ by time. They are names, not secrets.
    if (RAND_bytes(pool.data(), static_cast<int>(pool.size())) != 1) pool.fill(0);
    used = 0;
  }
  std::memcpy(out.data(), pool.data() + used, out.size());
  used += out.size();
}

}  // namespace

std::string_view MediaType(std::string_view path) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"csv", "text/csv"},
      {"gif", "image/gif"},
      {"gz", "application/gzip"},
      {"htm", "text/html"},
      {"html", "text/html"},
      {"jpeg", "image/jpeg"},
      {"jpg", "image/jpeg"},
      {"json", "application/json"},
      {"md", "text/markdown"},
      {"pdf", "application/pdf"},
      {"png", "image/png"},
      {"py", "text/x-python"},
      {"sqlite", "application/vnd.sqlite3"},
      {"svg", "image/svg+xml"},
      {"tar", "application/x-tar"},
      {"tsv", "text/tab-separated-values"},
      {"txt", "text/plain"},
      {"webp", "image/webp"},
      {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
      {"xml", "application/xml"},
      {"zip", "application/zip"},
  };
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return "application/octet-stream";
  std::string extension(name.substr(dot + 1));
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const auto& [known, type] : kTypes) {
    if (known == extension) return type;
  }
  return "application/octet-stream";
}

Dict WithPositional(Dict keywords, List positional) {
  if (positional.items.empty()) return keywords;
  std::string name = "*args";
  while (keywords.Find(name) != nullptr) name.insert(0, 1, '*');
  keywords.items.emplace_back(std::move(name), std::move(positional));
  return keywords;
}

std::string_view ToString(RunStatus status) {
  static constexpr std::string_view kNames[] = {"completed", "failed",  "rejected",
                                                "limit",     "waiting", "cancelled"};
  return kNames[std::to_underlying(status)];
}

std::string_view ToString(RunReason reason) {
  static constexpr std::string_view kNames[] = {
      "returned",       "raised", "policy",   "wall_time",  "cpu_time",
      "memory",         "result", "files",    "tool_calls", "crashed",
      "denied_syscall", "killed", "approval", "diverged",   "lost"};
  return kNames[std::to_underlying(reason)];
}

bool EndedWithWorker(const Outcome& outcome) {
  // Code can raise an exception of its own with any name, but the reason is then that it was
  // raised.
  return outcome.reason == RunReason::kCrashed && outcome.error &&
         outcome.error->type == kWorkerLost;
}

std::string NewRunId() {
  static constexpr char kDigits[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::array<unsigned char, 10> chance{};
  TakeRandom(chance);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto time = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  std::string id = "run_00000000000000000000000000";
  for (std::size_t i = 10; i-- > 0; time >>= 5) id[4 + i] = kDigits[time & 31];
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 5; ++i) bits = bits << 8 | chance[half * 5 + i];
    for (std::size_t i = 0; i < 8; ++i, bits >>= 5) id[14 + half * 8 + i] = kDigits[bits & 31];
  }
  return id;
}

std::string ToJson(const Outcome& outcome, FileData file_data) {
  Writer out;
  out.Open('{');
  out.Field("run_id", outcome.run_id);
  out.Field("status", ToString(outcome.status));
  out.Field("reason", ToString(outcome.reason));
  out.Field("stdout", outcome.stdout_text);
  out.Field("stderr", outcome.stderr_text);
  out.Key("truncated");
  out.Open('{');
  out.Field("stdout", outcome.stdout_truncated);
  out.Field("stderr", outcome.stderr_truncated);
  out.Close('}');
  AppendResult(outcome, out);
  AppendError(outcome.error, out);
  AppendList("findings", outcome.findings, out, [&](const Finding& f) { AppendFinding(f, out); });
  AppendList("files", outcome.files, out,
             [&](const OutcomeFile& f) { AppendFile(f, file_data, out); });
  ShownArguments of_calls;
  ShownArguments of_approvals;
  AppendList("calls", outcome.calls, out,
             [&](const OutcomeCall& c) { AppendCall(c, of_calls, out); });
  AppendList("approvals", outcome.approvals, out,
             [&](const OutcomeApproval& a) { AppendApproval(a, of_approvals, out); });
  out.Key("boundary");
  out.Open('{');
  out.Field("engine", outcome.boundary.engine);
  out.Field("tier", outcome.boundary.tier);
  AppendList("missing", outcome.boundary.missing, out,
             [&](const std::string& m) { out.String(m); });
  out.Close('}');
  out.Key("usage");
  out.Open('{');
  out.Field("wall_us", outcome.usage.wall);
  out.Field("cpu_us", outcome.usage.cpu);
  out.Field("peak_memory_bytes", outcome.usage.peak_memory_bytes);
  out.Field("queue_us", outcome.usage.queue);
  out.Field("start_us", outcome.usage.start);
  out.Close('}');
  out.Close('}');
  return std::move(out).Take();
}

}  // namespace caisson
