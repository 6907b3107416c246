#include "protocol/agui/agui_api.h"

#include <algorithm>
#include <utility>

#include "base/low_priority_pool.h"
#include "net/sse.h"
#include "protocol/door/caller.h"
#include "protocol/door/status.h"
#include "runs/door_caller.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

Error NoSuchAgent() {
  return Error(ErrorCode::kNotFound, "no such agent");
}

Result<std::string> ParseThreadId(std::string_view body) {
  TRY_ASSIGN(const Value value, ParseJson(body));
  const auto* object = value.If<Dict>();
  const Value* id = object == nullptr ? nullptr : FindField(*object, "threadId", "thread_id");
  const auto* text = id == nullptr ? nullptr : id->If<std::string>();
  if (text != nullptr && !text->empty() && text->size() <= kMaxIdBytes) return *text;
  return Error(ErrorCode::kInvalidArgument, "the body must be a JSON object with \"threadId\"");
}

}  // namespace

void AguiApi::Mount(net::Router& router) {
  const net::Screen screen = door::ScreenOf(services_.identity);
  router.Add("POST", "/agui/{name}", [this](net::Exchange& exchange) { return Run(exchange); },
             {.max_body_bytes = kMaxBodyBytes, .screen = screen});
  router.Add("POST", "/agui/{name}/cancel",
             net::Answering([this](net::Request request) { return Cancel(std::move(request)); }),
             {.screen = screen});
  router.Add("GET", "/agui/{name}/capabilities", net::Answering([this](net::Request request) {
               return Capabilities(std::move(request));
             }),
             {.screen = screen});
}

bool AguiApi::HasAgent(const std::string& name) const {
  const auto agents = services_.turns.Agents();
  return std::ranges::find(agents, name, &AgentInfo::name) != agents.end();
}

asio::awaitable<void> AguiApi::Run(net::Exchange& exchange) {
  auto answer = co_await Answer(exchange.request());
  if (!answer) {
    static_cast<void>(co_await exchange.Send(door::ToResponse(answer.error())));
    co_return;
  }
  auto stream = co_await net::EventStream::Open(exchange);
  if (!stream) co_return;
  if (auto* whole = std::get_if<WholeAnswer>(&*answer)) {
    for (std::string& event : whole->events) {
      if (!co_await stream->Send({.data = std::move(event)})) co_return;
    }
    co_return;
  }
  co_await std::get<ThreadRun::Follower>(*answer).Follow(*std::move(stream));
}

asio::awaitable<Result<ThreadAnswer>> AguiApi::Answer(net::Request& request) {
  if (auto json = door::RequireJson(request); !json) co_return std::move(json).error();
  const std::string agent = request.Parameter("name");
  if (!HasAgent(agent)) co_return NoSuchAgent();
  auto input = co_await CallAside(services_.cpu_pool, request.body.size(),
                                  [&] { return ParseRunInput(request.body); });
  if (!input) co_return std::move(input).error();
  request.body = {};
  const door::Caller& caller = door::CallerOf(request);
  ThreadRequest asked{
      .owner = caller.owner, .agent = agent, .input = *std::move(input), .user = caller.name()};
  if (services_.caller_host != nullptr) {
    asked.caller = ForRequest(RemoteCaller(*services_.caller_host, caller.identity, "agui"),
                              {.message_id = asked.input.run_id, .session = asked.input.thread_id});
  }
  co_return co_await runs_.Answer(std::move(asked));
}

asio::awaitable<net::Response> AguiApi::Cancel(net::Request request) {
  if (auto json = door::RequireJson(request); !json) co_return door::ToResponse(json.error());
  const std::string agent = request.Parameter("name");
  if (!HasAgent(agent)) co_return door::ToResponse(NoSuchAgent());
  auto thread = ParseThreadId(request.body);
  if (!thread) co_return door::ToResponse(thread.error());
  const auto cancelled =
      co_await runs_.Cancel(door::CallerOf(request).owner, agent, *std::move(thread));
  if (!cancelled) co_return door::ToResponse(cancelled.error());
  co_return net::Response{.status = 204};
}

asio::awaitable<net::Response> AguiApi::Capabilities(net::Request request) const {
  const auto agents = services_.turns.Agents();
  const auto agent = std::ranges::find(agents, request.Parameter("name"), &AgentInfo::name);
  if (agent == agents.end()) co_return door::ToResponse(NoSuchAgent());
  const Dict capabilities =
      Object({{"identity", Object({{"name", agent->name}, {"description", agent->description}})},
              {"transport", Object({{"streaming", true}})},
              {"tools", Object({{"clientProvided", true}})},
              {"state", Object({{"snapshots", true}, {"deltas", true}, {"persistentState", true}})},
              {"humanInTheLoop", Object({{"interrupts", true}, {"approveWithEdits", true}})},
              {"execution", Object({{"codeExecution", true}, {"sandboxed", true}})}});
  co_return net::JsonResponse(200, *ToJson(capabilities));
}

}  // namespace caisson::agui
