#include "agent/instructions.h"

#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

namespace caisson {
namespace {

constexpr std::string_view kResults =
    "Show results with print(), or end the code with an expression: its value comes back as JSON.";

std::string Seconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 std::chrono::duration<double>(time).count());
  return {text.data(), end.ptr};
}

std::string ToolsBlock(const CodeSetting& setting) {
  if (setting.tools->tools().empty()) return "No tools are registered.\n";
  std::string text =
      "Registered tools, called like functions, by name or position; `await` in front is allowed, "
      "and "
      "asyncio.gather(...) runs calls side by side. call_tool(\"name\", {...}) reaches any of "
      "them. A call that "
      "fails raises ToolError; ApprovalDenied and UncertainError (it may have been done) are kinds "
      "of it.\n\n";
  for (const auto& tool : setting.tools->tools())
    text.append(tool->signature().Text()).append("\n");
  return text;
}

std::string_view Words(MountMode mode) {
  switch (mode) {
    case MountMode::kReadOnly:
      return "read-only";
    case MountMode::kReadWrite:
      return "changes are kept if the run completes";
    case MountMode::kOverlay:
      return "can be written, changes come back as files and are not kept";
  }
  return "";
}

std::string FilesBlock(const CodeSetting& setting) {
  std::string text = "Files: what is written to /output comes back; /tmp is for the run alone.";
  if (!setting.files.empty()) {
    text.append(" " + std::to_string(setting.files.size()) + " input files are below /input.");
  }
  text.append(setting.mounts.empty() ? " No directories are mounted.\n"
                                     : " Mounted directories:\n");
  for (const workspace::MountSpec& mount : setting.mounts) {
    text.append("- " + mount.point.guest_path + " (" + std::string(Words(mount.point.mode)));
    if (mount.point.write_bytes_limit > 0) {
      text.append(", at most " + std::to_string(mount.point.write_bytes_limit) + " bytes written");
    }
    text.append(")\n");
  }
  return text;
}

std::string LimitsBlock(const Limits& limits, const Limits& most) {
  return "Limits of a run: " + Seconds(limits.wall_time) + " s (" + Seconds(limits.cpu_time) +
         " s of CPU), " + std::to_string(limits.memory_bytes >> 20) + " MiB of memory, " +
         std::to_string(limits.tool_calls) + " calls, " +
         std::to_string(limits.stdout_bytes >> 10) + " KiB of output. It may ask for up to " +
         Seconds(most.wall_time) + " s (" + Seconds(most.cpu_time) + " s of CPU) and " +
         std::to_string(most.memory_bytes >> 20) + " MiB of memory.\n";
}

}  // namespace

std::string Instructions(const CodeSetting& setting, ToolsVisible visible) {
  std::string text =
      "You have one primary tool, `execute_code`: it runs Python in a fresh, isolated interpreter "
      "without a "
      "network. Prefer one call that does the whole job, with loops, conditions and several tool "
      "calls, over "
      "many small ones. ";
  text.append(kResults).append("\n\n");
  text.append(ToolsBlock(setting)).append("\n").append(FilesBlock(setting)).append("\n");
  text.append(
      visible == ToolsVisible::kYes
          ? "Some of these tools may also be offered to you directly; use execute_code when you "
            "combine several or process what they return.\n"
          : "These tools are not offered to you directly; call them from code.\n");
  return text;
}

std::string Description(const CodeSetting& setting) {
  std::string text =
      "Runs Python (CPython 3.11 with its standard library) in a fresh, isolated interpreter "
      "without a "
      "network. ";
  text.append(kResults).append("\n\n");
  text.append(ToolsBlock(setting)).append("\n");
  text.append(FilesBlock(setting));
  text.append(setting.packages ? DescribePolicy(setting.policy, *setting.packages)
                               : DescribePolicy(setting.policy));
  text.append("\n");
  text.append(LimitsBlock(setting.limits, setting.ceiling));
  return text;
}

}  // namespace caisson
