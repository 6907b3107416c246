#include "bench/agent_door.h"

#include <string>
#include <string_view>

#include "bench/door_client.h"

namespace caisson::bench {
namespace {

constexpr int kWarmUpTurns = 50;
constexpr std::string_view kPath = "/v1/responses";
constexpr std::string_view kAgent =
    "[[model]]\nname = \"demo\"\nkind = \"demo\"\n[[agent]]\nname = \"demo\"\nmodel = \"demo\"\n";
constexpr std::string_view kFirstDelta = "response.output_text.delta";
constexpr std::string_view kText = R"({"model":"demo","input":"hello","stream":true})";
constexpr std::string_view kCode = R"({"model":"demo","input":"```python\n6*7\n```"})";

}  // namespace

Result<AgentDoor> AgentDoor::Open(const ServerPlan& plan) {
  TRY_ASSIGN(HttpServerProcess server, HttpServerProcess::Start(plan, kAgent));
  return AgentDoor(std::move(server));
}

Result<Samples> AgentDoor::FirstDeltas(int turns) const {
  const std::string request = PostRequest(server_.port(), kPath, kText);
  TRY_ASSIGN(const auto client, DoorClient::Connect(server_.port()));
  Samples samples;
  for (int i = -kWarmUpTurns; i < turns; ++i) {
    TRY(client->Ask(request));
    TRY(client->ReadUntil(kFirstDelta));
    const double took = client->waited_us();
    TRY(client->ReadToEnd());
    TRY(client->Expect("You said: hello"));
    if (i >= 0) samples.push_back(took);
  }
  return samples;
}

Result<Samples> AgentDoor::CodeTurns(int turns) const {
  const std::string request = PostRequest(server_.port(), kPath, kCode);
  TRY_ASSIGN(const auto client, DoorClient::Connect(server_.port()));
  Samples samples;
  for (int i = -kWarmUpTurns; i < turns; ++i) {
    TRY(client->Ask(request));
    TRY(client->ReadToEnd());
    const double took = client->waited_us();
    TRY(client->Expect("The result is: 42"));
    if (i >= 0) samples.push_back(took);
  }
  return samples;
}

}  // namespace caisson::bench
