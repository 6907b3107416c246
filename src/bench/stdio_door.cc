#include "bench/stdio_door.h"

#include <chrono>
#include <string_view>

#include "wire/json.h"
#include "wire/object.h"

namespace caisson::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",)"
    R"("capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})";
constexpr std::string_view kInitialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

std::string Request(int id, std::string_view code) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":")" +
         std::string(code) + R"("}}})";
}

Result<void> Check(const std::string& line, std::int64_t expected) {
  TRY_ASSIGN(const Value answer, ParseJson(line));
  const auto* fields = answer.If<Dict>();
  const auto* result = fields == nullptr ? nullptr : FindAs<Dict>(*fields, "result");
  const auto* outcome = result == nullptr ? nullptr : FindAs<Dict>(*result, "structuredContent");
  const auto* value = outcome == nullptr ? nullptr : FindAs<std::int64_t>(*outcome, "result");
  if (value != nullptr && *value == expected) return {};
  return Error(ErrorCode::kInternal, "a wrong answer: " + line);
}

}  // namespace

Result<Samples> StdioCalls(const StdioPlan& plan) {
  TRY_ASSIGN(const ScratchDirectory home, ScratchDirectory::Make());
  TRY_ASSIGN(ServerProcess server, ServerProcess::Start(plan.server, {"mcp"}, home.path()));
  TRY(server.Write(std::string(kInitialize)));
  TRY(server.ReadLine());
  TRY(server.Write(std::string(kInitialized)));
  Samples samples;
  for (int i = -plan.warm_up_calls; i < plan.calls; ++i) {
    const std::string request = Request(i + plan.warm_up_calls + 1, plan.code);
    const auto begin = Clock::now();
    TRY(server.Write(request));
    TRY_ASSIGN(const std::string line, server.ReadLine());
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    TRY(Check(line, plan.result));
    if (i >= 0) samples.push_back(took.count());
  }
  return samples;
}

}  // namespace caisson::bench
