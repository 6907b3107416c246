#include "protocol/rest/rest_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "approval/presentation.h"
#include "base/low_priority_pool.h"
#include "protocol/rest/rest_json.h"
#include "protocol/rest/run_request.h"
#include "protocol/rest/start_run.h"

namespace caisson::rest {
namespace {

Error NotThere() {
  return Error(ErrorCode::kNotFound, "not there");
}

template <typename T>
std::optional<T> Number(std::string_view text) {
  T number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct ListQuery {
  std::optional<std::string> state{};
  PageQuery page{};
};

Result<ListQuery> ParseListQuery(const net::Request& request) {
  ListQuery query;
  for (const auto& [name, value] : request.query) {
    if (name == "state") {
      query.state = value;
    } else if (name == "after") {
      query.page.after = value;
    } else if (name == "limit") {
      const auto limit = Number<std::uint32_t>(value);
      if (!limit || *limit == 0 || *limit > kMaxPageSize) {
        return Error(ErrorCode::kInvalidArgument,
                     "\"limit\" must be a number from 1 to " + std::to_string(kMaxPageSize));
      }
      query.page.limit = *limit;
    } else {
      return Error(ErrorCode::kInvalidArgument,
                   "\"" + name + "\" is not known; there are \"state\", \"limit\" and \"after\"");
    }
  }
  return query;
}

// Returns the state of that name.
template <typename State>
Result<std::optional<State>> ParseState(const std::optional<std::string>& name,
                                        std::span<const State> states) {
  if (!name) return std::optional<State>();
  std::string names;
  for (const State state : states) {
    if (ToString(state) == *name) return std::optional<State>(state);
    names.append(names.empty() ? "" : ", ").append(ToString(state));
  }
  return Error(ErrorCode::kInvalidArgument, "\"state\" must be one of " + names);
}

constexpr std::array kRunStates = {RunState::kRunning, RunState::kWaiting, RunState::kFinished};

// For Content-Disposition: RFC 8187, everything but letters and digits encoded.
std::string EncodedFileName(std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path.substr(path.rfind('/') + 1)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-' || c == '_';
    plain ? void(out.push_back(c))
          : void(out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]}));
  }
  return out;
}

// The code wrote the contents: a browser must neither show them as a page of this server nor guess
// their type.
net::Response FileResponse(const OutcomeFile& file, std::string contents) {
  return {.headers = {{.name = "Content-Type", .value = std::string(MediaType(file.path))},
                      {.name = "Content-Disposition",
                       .value = "attachment; filename*=UTF-8''" + EncodedFileName(file.path)},
                      {.name = "Content-Security-Policy", .value = "sandbox"}},
          .body = std::move(contents)};
}

}  // namespace

void RestApi::Mount(net::Router& router) const {
  // Every character of the code may take six in JSON ("\u0000"), and a body has other fields.
  const std::size_t run_bytes = 6 * max_code_bytes_ + (64u << 10);
  const auto add = [&](const char* method, const char* pattern, Operation operation) {
    router.Add(method, pattern, Handle(operation), {.screen = door::ScreenOf(services_.identity)});
  };
  router.Add("POST", "/v1/runs", [this](net::Exchange& exchange) { return StartRun(exchange); },
             {.max_body_bytes = run_bytes, .screen = door::ScreenOf(services_.identity)});
  add("GET", "/v1/runs", &RestApi::ListRuns);
  add("GET", "/v1/runs/{id}", &RestApi::ShowRun);
  add("POST", "/v1/runs/{id}/cancel", &RestApi::CancelRun);
  add("GET", "/v1/runs/{id}/files/{n}", &RestApi::ShowFile);
  add("GET", "/v1/approvals", &RestApi::ListApprovals);
  add("GET", "/v1/approvals/{id}", &RestApi::ShowApproval);
  add("POST", "/v1/approvals/{id}", &RestApi::Decide);
  add("GET", "/v1/grants", &RestApi::ListGrants);
  add("DELETE", "/v1/grants/{id}", &RestApi::RevokeGrant);
}

net::Handler RestApi::Handle(Operation operation) const {
  return net::Answering([this, operation](net::Request request) -> asio::awaitable<net::Response> {
    Caller caller = CallerOf(request);
    auto response = co_await (this->*operation)(std::move(caller), std::move(request));
    co_return response ? *std::move(response) : ToResponse(response.error());
  });
}

asio::awaitable<void> RestApi::StartRun(net::Exchange& exchange) const {
  RunStart start(services_, usual_, exchange);
  co_await start.Perform();
}

RestApi::Reply RestApi::ListRuns(Caller caller, net::Request request) const {
  auto query = ParseListQuery(request);
  if (!query) co_return std::move(query).error();
  const auto state = ParseState<RunState>(query->state, kRunStates);
  if (!state) co_return state.error();
  const auto page = co_await services_.runs.List(caller.owner, *state, query->page);
  if (!page) co_return page.error();
  co_return net::JsonResponse(200, ToJson(*page, Summary));
}

RestApi::Reply RestApi::ShowRun(Caller caller, net::Request request) const {
  const auto run = co_await services_.runs.Find(caller.owner, RunId(request.Parameter("id")));
  if (!run) co_return run.error();
  co_return net::JsonResponse(
      200, co_await CallAside(services_.cpu_pool, JsonWork(*run), [&] { return ToJson(*run); }));
}

RestApi::Reply RestApi::CancelRun(Caller caller, net::Request request) const {
  const auto run = co_await services_.runs.Cancel(caller.owner, RunId(request.Parameter("id")));
  if (!run) co_return run.error();
  co_return net::JsonResponse(
      200, co_await CallAside(services_.cpu_pool, JsonWork(*run), [&] { return ToJson(*run); }));
}

RestApi::Reply RestApi::ShowFile(Caller caller, net::Request request) const {
  const RunId id(request.Parameter("id"));
  const auto number = Number<std::uint32_t>(request.Parameter("n"));
  const auto run = co_await services_.runs.Find(caller.owner, id);
  if (!run) co_return run.error();
  if (!number || *number >= run->outcome.files.size()) co_return NotThere();
  const OutcomeFile& file = run->outcome.files[*number];
  if (!file.omitted.empty() || file.change == "deleted") co_return NotThere();
  auto contents = co_await services_.runs.File(caller.owner, id, *number);
  if (!contents) co_return contents.error();
  co_return FileResponse(file, *std::move(contents));
}

RestApi::Reply RestApi::ListApprovals(Caller caller, net::Request request) const {
  auto query = ParseListQuery(request);
  if (!query) co_return std::move(query).error();
  const auto state = ParseState<ApprovalState>(query->state, kApprovalStates);
  if (!state) co_return state.error();
  const auto page = co_await services_.runs.ListApprovals(caller.owner, *state, query->page);
  if (!page) co_return page.error();
  std::size_t bytes = 0;
  for (const StoredApproval& approval : page->items) bytes += approval.asked.arguments.size();
  co_return net::JsonResponse(200, co_await CallAside(services_.cpu_pool, bytes, [&] {
                                return ToJson(*page, [](const StoredApproval& approval) {
                                  return caisson::ToJson(approval);
                                });
                              }));
}

RestApi::Reply RestApi::Show(const StoredApproval& approval) const {
  co_return net::JsonResponse(
      200, co_await CallAside(services_.cpu_pool, approval.asked.arguments.size(),
                              [&] { return caisson::ToJson(approval); }));
}

RestApi::Reply RestApi::ShowApproval(Caller caller, net::Request request) const {
  const auto approval =
      co_await services_.runs.FindApproval(caller.owner, ApprovalId(request.Parameter("id")));
  if (!approval) co_return approval.error();
  co_return co_await Show(*approval);
}

RestApi::Reply RestApi::Decide(Caller caller, net::Request request) const {
  if (auto json = RequireJson(request); !json) co_return std::move(json).error();
  auto answer = co_await CallAside(services_.cpu_pool, request.body.size(),
                                   [&] { return ParseAnswer(request.body); });
  if (!answer) co_return std::move(answer).error();
  answer->by = caller.name();
  const auto approval = co_await services_.runs.Decide(
      caller.owner, ApprovalId(request.Parameter("id")), *std::move(answer));
  if (!approval) co_return approval.error();
  co_return co_await Show(*approval);
}

RestApi::Reply RestApi::ListGrants(Caller caller, net::Request request) const {
  if (!request.query.empty()) {
    co_return Error(ErrorCode::kInvalidArgument,
                    "grants have no pages; leave out \"limit\" and \"after\"");
  }
  auto grants = co_await services_.runs.Grants(caller.owner);
  if (!grants) co_return std::move(grants).error();
  const Page<Grant> page{.items = *std::move(grants), .next = {}};
  co_return net::JsonResponse(
      200, ToJson(page, [](const Grant& grant) { return caisson::ToJson(grant); }));
}

RestApi::Reply RestApi::RevokeGrant(Caller caller, net::Request request) const {
  const auto revoked = co_await services_.runs.RevokeGrant(
      caller.owner, GrantId(request.Parameter("id")), caller.name());
  if (!revoked) co_return revoked.error();
  co_return net::Response{.status = 204};
}

}  // namespace caisson::rest
