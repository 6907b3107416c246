#include "protocol/responses/responses_api.h"

#include <algorithm>
#include <memory>

#include "base/json_object.h"
#include "protocol/responses/api_error.h"
#include "protocol/responses/conversation_routes.h"
#include "protocol/responses/create_response.h"
#include "protocol/responses/invocations.h"
#include "protocol/responses/stored_responses.h"

namespace caisson::responses {
namespace {

std::string ModelJson(const AgentInfo& agent) {
  return JsonObject()
      .Text("id", agent.name)
      .Text("object", "model")
      .Number("created", 0)
      .Text("owned_by", "caisson")
      .Text("description", agent.description)
      .Finish();
}

asio::awaitable<net::Response> ListModels(const Door& door, Caller, net::Request) {
  std::string data = "[";
  for (const AgentInfo& agent : door.services.turns.Agents()) AppendElement(data, ModelJson(agent));
  co_return net::JsonResponse(200,
                              JsonObject().Text("object", "list").Put("data", data + "]").Finish());
}

asio::awaitable<net::Response> GetModel(const Door& door, Caller, net::Request request) {
  const auto agents = door.services.turns.Agents();
  const std::string& name = request.Parameter("model");
  const auto agent = std::ranges::find(agents, name, &AgentInfo::name);
  if (agent == agents.end()) co_return ToResponse(NoModel(name));
  co_return net::JsonResponse(200, ModelJson(*agent));
}

asio::awaitable<net::Response> NotOffered(const Door&, Caller, net::Request request) {
  co_return ToResponse(
      {.status = 501,
       .message = "This server does not offer " + request.method + " " + request.path + ".",
       .code = "not_offered"},
      Repeat::kNever);
}

}  // namespace

void ResponsesApi::Mount(net::Router& router, Form form) const {
  const auto door = std::make_shared<const Door>(
      Door{.services = services_, .options = options_, .form = std::move(form)});
  const net::RouteOptions options{.max_body_bytes = kMaxBodyBytes,
                                  .screen = MakeScreen(door),
                                  .adapt_refusal = MakeAdaptRefusal(door)};
  const auto add = [&](const char* method, const std::string& pattern, Operation operation) {
    router.Add(method, door->form.prefix + pattern, Handle(door, operation), options);
  };
  const auto stream = [&](const char* method, const std::string& pattern,
                          asio::awaitable<void> (*handler)(const Door&, net::Exchange&)) {
    router.Add(
        method, door->form.prefix + pattern,
        [door, handler](net::Exchange& exchange) { return handler(*door, exchange); }, options);
  };
  stream("POST", "/responses", CreateResponse);
  stream("GET", "/responses/{id}", GetResponse);
  add("DELETE", "/responses/{id}", DeleteResponse);
  add("POST", "/responses/{id}/cancel", CancelResponse);
  add("GET", "/responses/{id}/input_items", ListInputItems);
  add("POST", "/responses/compact", NotOffered);
  add("POST", "/responses/input_tokens", NotOffered);
  add("POST", "/conversations", CreateConversation);
  add("GET", "/conversations/{id}", GetConversation);
  add("POST", "/conversations/{id}", NotOffered);
  add("DELETE", "/conversations/{id}", DeleteConversation);
  add("GET", "/conversations/{id}/items", ListConversationItems);
  add("POST", "/conversations/{id}/items", AddConversationItems);
  add("GET", "/conversations/{id}/items/{item}", GetConversationItem);
  add("DELETE", "/conversations/{id}/items/{item}", NotOffered);
  add("GET", "/models", ListModels);
  add("GET", "/models/{model}", GetModel);
  if (door->form.platform != Form::Platform::kFoundry) return;
  stream("POST", "/invocations", Invoke);
  add("GET", "/invocations/{id}", GetInvocation);
  add("POST", "/invocations/{id}/cancel", CancelInvocation);
  add("GET", "/invocations/docs/openapi.json", DescribeInvocations);
}

}  // namespace caisson::responses
