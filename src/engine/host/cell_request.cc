#include "engine/host/cell_request.h"

#include <algorithm>
#include <string_view>

namespace caisson {
namespace {

// Writes the encoding of wire/value.h directly, because a request is built for every run and files
// can be large. request_test.cc decodes the result.
enum Tag : char { kTrue = 2, kInt = 3, kStr = 6, kBytes = 7, kList = 8, kTuple = 9, kDict = 10 };

void AppendLeb(std::uint64_t n, std::string& out) {
  for (; n >= 0x80; n >>= 7) out.push_back(static_cast<char>(n | 0x80));
  out.push_back(static_cast<char>(n));
}

void AppendText(Tag tag, std::string_view text, std::string& out) {
  out.push_back(tag);
  AppendLeb(text.size(), out);
  out.append(text);
}

void AppendInt(std::uint64_t n, std::string& out) {
  out.push_back(kInt);
  AppendLeb(n << 1, out);  // Zigzag encoding of a non-negative number.
}

void AppendNames(const std::vector<std::string>& names, std::string& out) {
  out.push_back(kList);
  AppendLeb(names.size(), out);
  for (const std::string& name : names) AppendText(kStr, name, out);
}

void AppendVariables(const std::map<std::string, std::string>& variables, std::string& out) {
  out.push_back(kDict);
  AppendLeb(variables.size(), out);
  for (const auto& [name, value] : variables) {
    AppendText(kStr, name, out);
    AppendText(kStr, value, out);
  }
}

// Writes a dict whose number of keys is known only at the end. It has fewer than 128 keys, so the
// number takes one byte.
class DictWriter {
 public:
  explicit DictWriter(std::string& out) : out_(out), count_(out.size() + 1) {
    out.append({kDict, 0});
  }
  // The next appended value belongs to this key.
  void Key(std::string_view key) {
    ++out_[count_];
    AppendText(kStr, key, out_);
  }

 private:
  std::string& out_;
  const std::size_t count_;
};

std::uint32_t Saturated(std::uint64_t n) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, UINT32_MAX));
}

}  // namespace

wire::StartHeader MakeStartHeader(const Limits& limits) {
  wire::StartHeader header{};
  header.wall_ns = static_cast<std::uint64_t>(limits.wall_time.count());
  header.cpu_ns = static_cast<std::uint64_t>(limits.cpu_time.count());
  header.memory_bytes = limits.memory_bytes;
  header.stdout_bytes = limits.stdout_bytes;
  header.stderr_bytes = limits.stderr_bytes;
  header.result_bytes = limits.result_bytes;
  header.file_bytes = limits.file_bytes;
  header.total_file_bytes = limits.total_file_bytes;
  header.files = Saturated(limits.files);
  header.open_files = Saturated(limits.open_files);
  header.tool_calls = Saturated(limits.tool_calls);
  header.message_bytes = Saturated(limits.message_bytes);
  return header;
}

void AppendRequest(const RunRequest& request, AfterRun after, std::string& out) {
  DictWriter dict(out);
  dict.Key("code");
  AppendText(kBytes, request.code, out);
  dict.Key("result_bytes");
  AppendInt(request.limits.result_bytes, out);
  if (request.signatures) {
    dict.Key("tools");
    out.append(*request.signatures);
  } else if (!request.tools.empty()) {
    dict.Key("tools");
    AppendNames(request.tools, out);
  }
  if (request.environment) {
    dict.Key("env");
    AppendVariables(*request.environment, out);
  }
  if (request.native_packages) {
    dict.Key("native_packages");
    AppendNames(*request.native_packages, out);
  }
  if (request.purpose == Purpose::kCheck) {
    dict.Key("check");
    out.push_back(kTrue);
  }
  if (after == AfterRun::kKeep) {
    dict.Key("keep");
    out.push_back(kTrue);
  }
  if (!request.policy.is_none()) {
    dict.Key("policy");
    // Contains only names and numbers; cannot fail.
    (void)EncodeValue(request.policy, out).has_value();
  }
}

void AppendFiles(const std::vector<InputFile>& files, std::span<const MountPoint> mounts,
                 std::string& out) {
  if (files.empty() && mounts.empty()) return;
  out.push_back(kList);
  AppendLeb(files.size() + mounts.size(), out);
  for (const MountPoint& mount : mounts) {
    out.push_back(kTuple);
    AppendLeb(3, out);
    AppendText(kStr, mount.guest_path, out);
    AppendInt(static_cast<std::uint64_t>(mount.mode), out);
    AppendInt(std::min<std::uint64_t>(mount.write_bytes_limit, INT64_MAX), out);
  }
  for (const InputFile& file : files) {
    out.push_back(kTuple);
    AppendLeb(2, out);
    AppendText(kStr, file.path, out);
    AppendText(kBytes, *file.contents, out);
  }
}

}  // namespace caisson
