#include "protocol/rest/rest_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/sha256.h"
#include "identity/key_resolver.h"
#include "net/client_for_test.h"
#include "tests/rest/fake_runs.h"

namespace caisson::rest {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kAnn = "the-key-of-ann-quite-long";
constexpr std::string_view kBob = "the-key-of-bob-quite-long";

std::unique_ptr<KeyResolver> AnnAndBob() {
  std::vector<BearerKey> keys;
  for (const auto& [user, key] : {std::pair("ann", kAnn), std::pair("bob", kBob)}) {
    keys.push_back({.identity = *Identity::Create({.tenant = "acme", .user = user}),
                    .digest = *DigestOfKey(key)});
  }
  return *KeyResolver::Create(std::move(keys), Isolation::kRequired);
}

// Counts how often it is asked.
class CountingResolver final : public IdentityResolver {
 public:
  CountingResolver() : IdentityResolver(Isolation::kRequired) {}
  int asked() const { return asked_; }

 private:
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const override {
    ++asked_;
    auto identity = co_await keys_->Resolve(std::move(request));
    if (!identity) co_return std::move(identity).error();
    co_return std::optional(*std::move(identity));
  }

  const std::unique_ptr<KeyResolver> keys_ = AnnAndBob();
  mutable std::atomic<int> asked_ = 0;
};

class RestTest : public testing::Test {
 protected:
  static net::Router Routes(const RestApi& api) {
    net::Router router;
    api.Mount(router);
    return router;
  }

  static std::string Text(std::string_view method, std::string_view path, std::string_view key,
                          std::string_view body, std::string_view headers = {}) {
    std::string text = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n";
    if (!key.empty()) text.append("Authorization: Bearer ").append(key).append("\r\n");
    if (!body.empty()) text.append("Content-Type: application/json\r\n");
    return text.append(headers)
        .append("Content-Length: " + std::to_string(body.size()) + "\r\n\r\n")
        .append(body);
  }
  // Returns head and body of the answer.
  std::string Ask(std::string_view method, std::string_view path, std::string_view key,
                  std::string_view body = {}, std::string_view headers = {}) {
    net::TestClient client(server_.endpoint());
    client.Send(Text(method, path, key, body, headers));
    return client.ReadAnswer();
  }
  std::string Get(std::string_view path, std::string_view key = kAnn) {
    return Ask("GET", path, key);
  }
  std::string Post(std::string_view path, std::string_view body, std::string_view key = kAnn) {
    return Ask("POST", path, key, body);
  }
  static std::string WithoutDate(std::string answer) {
    const std::size_t date = answer.find("Date: ");
    return answer.erase(date, answer.find("\r\n", date) - date);
  }

  FakeRuns runs_;
  CountingResolver identity_;
  ManualClock clock_;
  RestApi api_{{.runs = runs_, .identity = identity_, .clock = clock_}, {}, DefaultCeiling()};
  net::TestServer server_{Routes(api_)};
};

TEST_F(RestTest, ARunIsAnsweredWithItsOutcome) {
  const std::string answer = Post("/v1/runs", R"({"code":"6*7"})");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Location: /v1/runs/run_100\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"({"id":"run_100","state":"finished","created_at":"1970-01-01T)"));
  EXPECT_THAT(answer,
              HasSubstr(R"("code":"6*7","outcome":{"run_id":"run_100","status":"completed")"));
  EXPECT_THAT(answer, HasSubstr(R"("has_result":true,"result":42)"));
  EXPECT_THAT(Get("/v1/runs/run_100"), HasSubstr(answer.substr(answer.find("\r\n\r\n"))));
}

TEST_F(RestTest, ADetachedOrWaitingRunIsAccepted) {
  const std::string detached = Post("/v1/runs", R"({"code":"6*7","wait":false})");
  EXPECT_THAT(detached, AllOf(StartsWith("HTTP/1.1 202 "), HasSubstr(R"("outcome":null)"),
                              HasSubstr(R"("state":"running")")));
  EXPECT_THAT(Post("/v1/runs", R"({"code":"wait"})"),
              AllOf(StartsWith("HTTP/1.1 202 "), HasSubstr(R"("status":"waiting")")));
}

// Event loops serve everybody: they do not write long arguments.
TEST_F(RestTest, LongApprovalsAreWrittenInThePool) {
  asio::io_context pool;
  const auto kept = asio::make_work_guard(pool);
  const RestApi api(
      {.runs = runs_, .identity = identity_, .clock = clock_, .cpu_pool = pool.get_executor()}, {},
      DefaultCeiling());
  net::TestServer server{Routes(api)};
  const auto ask = [&](std::string_view method, std::string_view path, std::string_view body,
                       std::size_t work) {
    net::TestClient client(server.endpoint());
    client.Send(Text(method, path, kAnn, body));
    for (std::size_t done = 0; done < work; ++done) {
      EXPECT_EQ(pool.run_one_for(std::chrono::seconds(30)), 1u) << method << " " << path;
    }
    return client.ReadAnswer();
  };
  const std::string_view approve = R"({"decision":"approve"})";
  EXPECT_THAT(ask("POST", "/v1/runs", R"({"code":"wait"})", 0), StartsWith("HTTP/1.1 202 "));
  EXPECT_THAT(ask("GET", "/v1/approvals", "", 0), HasSubstr("200 OK"));
  EXPECT_THAT(ask("GET", "/v1/approvals/apr_run_100", "", 0), HasSubstr("200 OK"));
  EXPECT_THAT(ask("POST", "/v1/approvals/apr_run_100", approve, 0), HasSubstr("200 OK"));
  EXPECT_THAT(ask("POST", "/v1/runs", R"({"code":"wait lots"})", 0), StartsWith("HTTP/1.1 202 "));
  EXPECT_THAT(ask("GET", "/v1/approvals", "", 1), HasSubstr("aaaa"));
  EXPECT_THAT(ask("GET", "/v1/approvals/apr_run_101", "", 1), HasSubstr("aaaa"));
  EXPECT_THAT(ask("POST", "/v1/approvals/apr_run_101", approve, 1), HasSubstr("aaaa"));
}

TEST_F(RestTest, ARequestWithoutAnIdentityLearnsNothing) {
  for (const char* path : {"/v1/runs", "/v1/runs/run_100", "/v1/approvals", "/v1/runs/x/files/0"}) {
    for (const std::string_view key : {"", "some-other-key-entirely"}) {
      const std::string answer = Get(path, key);
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 401 ")) << path;
      EXPECT_THAT(answer,
                  AllOf(HasSubstr("WWW-Authenticate: Bearer\r\n"),
                        EndsWith(R"({"type":"about:blank","title":"Unauthorized","status":401})")))
          << path;
    }
  }
  EXPECT_THAT(Post("/v1/runs", R"({"code":"1"})", ""), StartsWith("HTTP/1.1 401 "));
  EXPECT_EQ(runs_.started(), 0u);
}

// I2
TEST_F(RestTest, TheIdentityIsResolvedOncePerRequest) {
  int requests = 0;
  const auto once = [&](std::string_view method, std::string_view path, std::string_view body) {
    Ask(method, path, kAnn, body, "Idempotency-Key: key-" + std::to_string(requests) + "\r\n");
    EXPECT_EQ(identity_.asked(), ++requests) << method << " " << path;
  };
  once("POST", "/v1/runs", R"({"code":"wait"})");
  once("POST", "/v1/runs", R"({"code":"6*7","detached":true})");
  for (const char* path : {"/v1/runs", "/v1/runs/run_100", "/v1/runs/run_100/files/0",
                           "/v1/approvals", "/v1/approvals/apr_x", "/v1/grants"}) {
    once("GET", path, "");
  }
  once("POST", "/v1/runs/run_100/cancel", "");
  once("POST", "/v1/approvals/apr_x", R"({"decision":"deny"})");
  once("DELETE", "/v1/grants/gra_x", "");
}

// I4: to Bob, an object of Ann and one that never existed look the same, byte for byte.
TEST_F(RestTest, ObjectsOfAnotherUserAreNotFound) {
  Post("/v1/runs", R"({"code":"6*7"})");
  Post("/v1/runs", R"({"code":"wait"})");
  const std::string body = R"({"decision":"approve"})";
  const auto expect_same = [&](std::string_view method, std::string_view hers,
                               std::string_view nobodys, std::string_view sent) {
    const std::string answer = Ask(method, hers, kBob, sent);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << hers;
    EXPECT_EQ(WithoutDate(answer), WithoutDate(Ask(method, nobodys, kBob, sent))) << hers;
    EXPECT_THAT(Ask(method, hers, kAnn, sent), Not(StartsWith("HTTP/1.1 404 "))) << hers;
  };
  expect_same("GET", "/v1/runs/run_100", "/v1/runs/run_999", "");
  expect_same("GET", "/v1/runs/run_100/files/0", "/v1/runs/run_999/files/0", "");
  expect_same("POST", "/v1/runs/run_100/cancel", "/v1/runs/run_999/cancel", "");
  expect_same("GET", "/v1/approvals/apr_run_101", "/v1/approvals/apr_run_999", "");
  expect_same("POST", "/v1/approvals/apr_run_101", "/v1/approvals/apr_run_999", body);
  EXPECT_THAT(Get("/v1/runs", kBob), EndsWith(R"({"items":[],"next":null})"));
  EXPECT_THAT(Get("/v1/approvals", kBob), EndsWith(R"({"items":[],"next":null})"));
}

TEST_F(RestTest, ListsComeInPages) {
  for (int i = 0; i < 3; ++i) Post("/v1/runs", R"({"code":"6*7"})");
  const std::string first = Get("/v1/runs?limit=2&state=finished");
  EXPECT_THAT(first, AllOf(HasSubstr("run_100"), HasSubstr("run_101"), Not(HasSubstr("run_102")),
                           EndsWith(R"("next":"run_101"})")));
  EXPECT_THAT(first, Not(HasSubstr("stdout")));
  EXPECT_THAT(Get("/v1/runs?limit=2&after=run_101"),
              AllOf(HasSubstr("run_102"), EndsWith(R"("next":null})")));
  for (const char* bad : {"limit=0", "limit=501", "limit=x", "limit=-1", "limit=", "state=odd",
                          "state=", "order=up"}) {
    EXPECT_THAT(Get(std::string("/v1/runs?") + bad), StartsWith("HTTP/1.1 400 ")) << bad;
  }
}

TEST_F(RestTest, ADecisionIsMadeOnceByTheCaller) {
  Post("/v1/runs", R"({"code":"wait"})");
  const std::string path = "/v1/approvals/apr_run_100";
  // Invisible characters are escaped.
  EXPECT_THAT(Get(path), AllOf(HasSubstr(R"("arguments":{"to":"ann\u202e"})"),
                               HasSubstr(R"("state":"pending")"), HasSubstr(R"("decision":null)")));
  EXPECT_THAT(Post(path, R"({"decision":"maybe"})"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Post(path, R"({"decision":"approve","reason":"as agreed"})"),
              AllOf(StartsWith("HTTP/1.1 200 "),
                    HasSubstr(R"("verdict":"approved","by":"ann","reason":"as agreed")")));
  EXPECT_THAT(Post(path, R"({"decision":"approve"})"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Post(path, R"({"decision":"deny"})"), StartsWith("HTTP/1.1 409 "));
}

TEST_F(RestTest, FilesAreAttachmentsNotPages) {
  Post("/v1/runs", R"({"code":"6*7"})");
  const std::string answer = Get("/v1/runs/run_100/files/0");
  EXPECT_THAT(answer, AllOf(HasSubstr("Content-Type: text/csv\r\n"),
                            HasSubstr("attachment; filename*=UTF-8''d%C3%A9%20%221%22.csv\r\n"),
                            HasSubstr("nosniff"), EndsWith(std::string("a,b\n\0\xff", 6))));
  for (const char* number : {"1", "2", "-1", "x", "99999999999"}) {
    EXPECT_THAT(Get(std::string("/v1/runs/run_100/files/") + number), StartsWith("HTTP/1.1 404 "))
        << number;
  }
}

TEST_F(RestTest, ErrorsSayWhatTheClientCanDo) {
  EXPECT_THAT(Post("/v1/runs", R"({"code":"busy"})"),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 1\r\n")));
  EXPECT_THAT(Post("/v1/runs", R"({"code":"full"})"),
              AllOf(StartsWith("HTTP/1.1 507 "), HasSubstr("Retry-After: "), HasSubstr("no room")));
  EXPECT_THAT(Post("/v1/runs", R"({"code":"down"})"),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: "), HasSubstr("not now")));
  EXPECT_THAT(
      Post("/v1/runs", R"({"code":"bug"})"),
      AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("urn:request:"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Post("/v1/runs", "{"), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("not JSON")));
  EXPECT_THAT(Ask("POST", "/v1/runs", kAnn, ""), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("PUT", "/v1/runs", kAnn, "{}"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(RestTest, AnIdempotentRequestIsDoneOnce) {
  const std::string_view key = "Idempotency-Key: k1\r\n";
  const std::string_view body = R"({"code":"6*7"})";
  const std::string first = Ask("POST", "/v1/runs", kAnn, body, key);
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(WithoutDate(Ask("POST", "/v1/runs", kAnn, body, key)), WithoutDate(first));
  EXPECT_EQ(runs_.started(), 1u);
  EXPECT_THAT(Ask("POST", "/v1/runs", kAnn, R"({"code":"7"})", key), StartsWith("HTTP/1.1 422 "));
  // As a status, also for a client that listens to events.
  EXPECT_THAT(Ask("POST", "/v1/runs", kAnn, R"({"code":"7"})",
                  "Idempotency-Key: k1\r\nAccept: text/event-stream\r\n"),
              StartsWith("HTTP/1.1 422 "));
  EXPECT_EQ(runs_.started(), 1u);
  // A key belongs to its owner only.
  EXPECT_THAT(Ask("POST", "/v1/runs", kBob, R"({"code":"7"})", key), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(runs_.started(), 2u);
  // A failed request may be retried.
  const std::string_view other = "Idempotency-Key: k2\r\n";
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Ask("POST", "/v1/runs", kAnn, R"({"code":"busy"})", other),
                StartsWith("HTTP/1.1 429 "));
  }
  for (const char* bad : {"Idempotency-Key: \r\n", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n",
                          "Idempotency-Key: \xc3\xa9\r\n"}) {
    EXPECT_THAT(Ask("POST", "/v1/runs", kAnn, body, bad), StartsWith("HTTP/1.1 400 ")) << bad;
  }
}

TEST_F(RestTest, TheSlowerOfTwoRequestsWithOneKeyFindsTheRun) {
  const std::string body = R"({"code":"wait"})";
  runs_.another_is_faster = true;
  runs_.fingerprint_of_another = ToHex(Sha256(body));
  EXPECT_THAT(Ask("POST", "/v1/runs", kAnn, body, "Idempotency-Key: k\r\n"),
              AllOf(StartsWith("HTTP/1.1 202 "), HasSubstr(R"("id":"run_100")")));
  EXPECT_EQ(runs_.started(), 1u);
  // With another body, the answer is that the key is used.
  runs_.another_is_faster = true;
  EXPECT_THAT(Ask("POST", "/v1/runs", kAnn, R"({"code":"7"})", "Idempotency-Key: l\r\n"),
              StartsWith("HTTP/1.1 422 "));
  EXPECT_EQ(runs_.started(), 2u);
}

TEST_F(RestTest, AStandingYesIsGivenListedAndTakenBack) {
  Post("/v1/runs", R"({"code":"wait"})");
  for (const char* bad :
       {R"({"decision":"approve","standing":true})", R"({"decision":"approve","standing":{}})",
        R"({"decision":"approve","standing":{"scope":"forever"}})",
        R"({"decision":"approve","standing":{"scope":"always","arguments":"some"}})",
        R"({"decision":"approve","standing":{"scope":"always","tool":"x"}})",
        R"({"decision":"approve","standing":{"scope":"session"}})"}) {
    EXPECT_THAT(Post("/v1/approvals/apr_run_100", bad), StartsWith("HTTP/1.1 400 ")) << bad;
  }
  EXPECT_THAT(Get("/v1/grants"), EndsWith(R"({"items":[],"next":null})"));
  EXPECT_THAT(Post("/v1/approvals/apr_run_100",
                   R"({"decision":"approve","standing":{"scope":"always","arguments":"any"}})"),
              StartsWith("HTTP/1.1 200 "));
  const std::string path = "/v1/grants/grt_apr_run_100";
  EXPECT_THAT(Get("/v1/grants"),
              AllOf(HasSubstr(R"("id":"grt_apr_run_100")"), HasSubstr(R"("pattern":"any")"),
                    HasSubstr(R"("granted_by":"ann")")));
  EXPECT_THAT(Get("/v1/grants", kBob), EndsWith(R"({"items":[],"next":null})"));
  EXPECT_EQ(WithoutDate(Ask("DELETE", path, kBob)),
            WithoutDate(Ask("DELETE", "/v1/grants/grt_none", kBob)));
  EXPECT_THAT(Ask("DELETE", path, kAnn), StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(Ask("DELETE", path, kAnn), StartsWith("HTTP/1.1 404 "));
}

TEST_F(RestTest, OutputIsToldAsItComes) {
  net::TestClient client(server_.endpoint());
  client.Send(Text("POST", "/v1/runs", kAnn, R"({"code":"6*7"})",
                   "Accept: text/event-stream\r\nConnection: close\r\n"));
  const std::string all = client.ReadAll();
  EXPECT_THAT(all,
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("text/event-stream"),
                    HasSubstr("event: started\ndata: {\"id\":\"run_100\"}\n\n"),
                    HasSubstr("data: {\"stream\":\"stdout\",\"text\":\"h\"}\n\n"),
                    HasSubstr("data: {\"stream\":\"stdout\",\"text\":\"\u00e9\"}\n\n"),
                    HasSubstr("event: run\ndata: {\"id\":\"run_100\""), EndsWith("0\r\n\r\n")));
  net::TestClient second(server_.endpoint());
  second.Send(Text("POST", "/v1/runs", kAnn, R"({"code":"bug"})",
                   "Accept: text/event-stream\r\nConnection: close\r\n"));
  EXPECT_THAT(second.ReadAll(), AllOf(HasSubstr("event: problem\ndata: {"), HasSubstr("500"),
                                      Not(HasSubstr("secret"))));
}

TEST_F(RestTest, AClientThatDisconnectsCancelsTheRunItWaitsFor) {
  net::TestClient client(server_.endpoint());
  client.Send(Text("POST", "/v1/runs", kAnn, R"({"code":"hang"})"));
  ASSERT_EQ(runs_.hanging.get_future().wait_for(std::chrono::seconds(10)),
            std::future_status::ready);
  client.Close();
  EXPECT_EQ(runs_.cancelled.get_future().wait_for(std::chrono::seconds(10)),
            std::future_status::ready);
}

}  // namespace
}  // namespace caisson::rest
