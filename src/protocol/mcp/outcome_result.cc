#include "protocol/mcp/outcome_result.h"

#include <charconv>
#include <utility>

#include "agent/outcome_contents.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "protocol/mcp/features.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

constexpr std::string_view kUriPrefix = "caisson://runs/";
constexpr std::string_view kFiles = "/files/";
// Larger images are links only, because clients send shown images to a model.
constexpr std::size_t kMaxShownImageBytes = 1u << 20;
// The text of a call or a file, without arguments and contents.
constexpr std::size_t kRecordBytes = 256;

constexpr std::string_view kSchema = R"({
"type":"object",
"properties":{
 "run_id":{"type":"string"},
 "status":{"enum":["completed","failed","rejected","limit","waiting","cancelled"]},
 "reason":{"type":"string"},
 "stdout":{"type":"string"},
 "stderr":{"type":"string"},
 "truncated":{"type":"object","properties":{"stdout":{"type":"boolean"},"stderr":{"type":"boolean"}}},
 "has_result":{"type":"boolean"},
 "result":{"description":"The value of the last expression."},
 "result_repr":{"type":["string","null"]},
 "error":{"anyOf":[{"type":"null"},{"type":"object","properties":{"type":{"type":"string"},"message":{"type":"string"},
  "line":{"type":["integer","null"]},"traceback":{"type":"string"}}}]},
 "findings":{"type":"array","items":{"type":"object","properties":{"rule":{"type":"string"},"message":{"type":"string"},
  "line":{"type":"integer"},"column":{"type":"integer"},"hint":{"type":"string"}}}},
 "files":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"change":{"type":"string"},
  "size":{"type":"integer"},"media_type":{"type":"string"}}}},
 "calls":{"type":"array","items":{"type":"object","properties":{"seq":{"type":"integer"},"tool":{"type":"string"},
  "outcome":{"type":"string"}}}},
 "approvals":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"tool":{"type":"string"}}}},
 "boundary":{"type":"object"},
 "usage":{"type":"object"}},
"required":["run_id","status","reason","stdout","stderr","has_result","calls","files"]})";

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string PercentEncoded(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return encoded;
}

std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

Dict TextBlock(std::string text) {
  Dict block = Object({{"type", "text"}});
  Append(block, "text", std::move(text));
  return block;
}

Dict ImageBlock(const DataContent& data) {
  Dict block = Object({{"type", "image"}, {"mimeType", data.media_type}});
  Append(block, "data", EncodeBase64(data.bytes));
  return block;
}

Dict LinkBlock(const DataContent& data, const FileAddress& address) {
  return Object({{"type", "resource_link"},
                 {"uri", FileUri(address, data.path)},
                 {"name", std::string(NameOf(data.path))},
                 {"mimeType", data.media_type},
                 {"size", static_cast<std::int64_t>(data.bytes.size())}});
}

// Converts the contents of an outcome to blocks, in their order.
class BlockWriter {
 public:
  BlockWriter(const RunView& run, std::string_view version) : run_(run), version_(version) {}

  void operator()(const TextContent& text) {
    blocks_.items.emplace_back(
        TextBlock(text.stream == "stderr" ? "[stderr]\n" + text.text : text.text));
  }

  void operator()(const ErrorContent& error) {
    const bool repeats = error.message.find(error.type) != std::string::npos;
    blocks_.items.emplace_back(
        TextBlock(repeats ? error.message : error.type + ": " + error.message));
  }

  // Data contents are in the order of the files that have any.
  void operator()(const DataContent& data) {
    const auto& files = run_.outcome.files;
    while (number_ < files.size() && !HasContents(files[number_])) ++number_;
    const FileAddress address{.run = run_.id, .number = number_++};
    if (data.media_type.starts_with("image/") && data.bytes.size() <= kMaxShownImageBytes &&
        data.media_type != "image/svg+xml") {
      blocks_.items.emplace_back(ImageBlock(data));
    }
    // The first version had no links.
    if (version_ == kOldestVersion) {
      blocks_.items.emplace_back(
          TextBlock("[file " + data.path + ": " + FileUri(address, data.path) + "]"));
    } else {
      blocks_.items.emplace_back(LinkBlock(data, address));
    }
  }

  List Take() && { return std::move(blocks_); }

 private:
  static bool HasContents(const OutcomeFile& file) {
    return file.change != "deleted" && file.omitted.empty();
  }

  const RunView& run_;
  const std::string_view version_;
  std::uint32_t number_ = 0;
  List blocks_;
};

}  // namespace

Value OutcomeSchema() {
  return *ParseJson(kSchema);
}

Dict OutcomeResult(const RunView& run, std::string_view version) {
  BlockWriter writer(run, version);
  for (const Content& content : ToContents(CodeRun{.outcome = run.outcome})) {
    std::visit(writer, content);
  }
  Dict result;
  Append(result, "content", std::move(writer).Take());
  DecodeBudget budget(kAnyDecodedBytes);  // The run's limits bound it.
  auto outcome = ParseJson(ToJson(run.outcome, FileData::kOmit), budget);
  if (outcome) Append(result, "structuredContent", *std::move(outcome));
  const RunStatus status = run.outcome.status;
  Append(result, "isError", status != RunStatus::kCompleted && status != RunStatus::kWaiting);
  return result;
}

std::size_t OutcomeWork(const RunView& run) {
  const Outcome& outcome = run.outcome;
  std::size_t bytes = outcome.stdout_text.size() + outcome.stderr_text.size();
  if (outcome.result) bytes += DecodedBytes(*outcome.result);
  if (outcome.result_repr) bytes += outcome.result_repr->size();
  for (const OutcomeCall& call : outcome.calls) {
    bytes += kRecordBytes + DecodedBytes(call.arguments);
  }
  for (const OutcomeFile& file : outcome.files) bytes += kRecordBytes + file.contents.size();
  return bytes;
}

std::string FileUri(const FileAddress& address, std::string_view path) {
  return std::string(kUriPrefix) + address.run.str() + std::string(kFiles) +
         std::to_string(address.number) + "/" + PercentEncoded(NameOf(path));
}

// The name at the end is for people; the number identifies the file.
std::optional<FileAddress> ParseFileUri(std::string_view uri) {
  if (!uri.starts_with(kUriPrefix)) return std::nullopt;
  uri.remove_prefix(kUriPrefix.size());
  const std::size_t files = uri.find(kFiles);
  if (files == uri.npos || files == 0) return std::nullopt;
  FileAddress address{.run = RunId(std::string(uri.substr(0, files)))};
  uri.remove_prefix(files + kFiles.size());
  const auto [end, error] = std::from_chars(uri.data(), uri.data() + uri.size(), address.number);
  if (error != std::errc() || end == uri.data() + uri.size() || *end != '/') return std::nullopt;
  return address;
}

}  // namespace caisson::mcp
