#include "tools/http/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cmath>
#include <fstream>
#include <map>

#include "base/spawn.h"
#include "tools/http/server_for_test.h"
#include "tools/tool.h"
#include "wire/json.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Ok(const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string Redirect(const std::string& location, int status = 302) {
  return "HTTP/1.1 " + std::to_string(status) + " Found\r\nLocation: " + location +
         "\r\nContent-Length: 0\r\n\r\n";
}

class HttpTest : public ::testing::Test {
 protected:
  HttpRuleSpec Local(const TestServer& server, std::string path = "/",
                     std::string host = "127.0.0.1") {
    return {.url = "http://" + host + ":" + server.port() + path,
            .methods = {"GET", "POST"},
            .private_hosts = PrivateHosts::kAllow};
  }

  // The names of this test. Each answer is used once; the last one is repeated.
  Resolver Names() {
    return [this](std::string host) -> asio::awaitable<Result<std::vector<asio::ip::address>>> {
      ++lookups_;
      auto found = names_.find(host);
      if (found == names_.end()) co_return Error(ErrorCode::kUnavailable, "no such host");
      auto addresses = found->second.front();
      if (found->second.size() > 1) found->second.erase(found->second.begin());
      co_return addresses;
    };
  }

  ToolAnswer Fetch(HttpToolSpec spec, std::string_view arguments,
                   std::chrono::nanoseconds timeout = 20s) {
    if (!tool_) {
      auto body = Http(std::move(spec), context_.get_executor(), Names());
      if (!body) {
        ADD_FAILURE() << body.error().message();
        return ToolDenied{};
      }
      tool_ = *Tool::Make({.name = "fetch", .input_schema = HttpInputSchema(), .timeout = timeout},
                          *std::move(body));
    }
    std::optional<Result<ToolAnswer>> answer;
    Invocation invocation{.keywords = std::get<Dict>(ParseJson(arguments)->variant())};
    Spawn(context_.get_executor(), [&]() -> asio::awaitable<void> {
      answer.emplace(co_await tool_->InvokeRaw(std::move(invocation), run_));
    });
    context_.restart();
    while (!answer && context_.run_one() > 0) {
    }
    if (!*answer) return ToRaised(answer->error());
    return **std::move(answer);
  }

  std::string Get(HttpToolSpec spec, const std::string& url) {
    return Shown(Fetch(std::move(spec), R"({"url":")" + url + "\"}"));
  }

  static std::string Shown(const ToolAnswer& answer) {
    if (const auto* raised = std::get_if<ToolRaised>(&answer))
      return raised->type + ": " + raised->message;
    const auto json = ToJson(std::get<Value>(answer));
    return json ? *json : "bytes";
  }

  asio::io_context context_;
  std::map<std::string, std::vector<std::vector<asio::ip::address>>> names_;
  std::shared_ptr<const Tool> tool_;
  ToolRun run_;
  int lookups_ = 0;
};

TEST_F(HttpTest, FetchesAllowedUrls) {
  TestServer server(context_,
                    [](const std::string&) { return Ok("hello", "X-A: 1\r\nx-a: 2\r\n"); });
  const std::string url = "http://127.0.0.1:" + server.port() + "/x?y=1";
  EXPECT_EQ(Get({.rules = {Local(server)}}, url),
            R"({"status":200,"url":")" + url +
                R"(","headers":{"x-a":"1, 2","content-length":"5"},"body":"hello"})");
  EXPECT_THAT(server.requests().at(0),
              HasSubstr("GET /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:" + server.port()));
}

TEST_F(HttpTest, NothingIsAllowedByDefault) {
  TestServer server(context_, [](const std::string&) { return Ok("hello"); });
  EXPECT_THAT(
      Get({}, "http://127.0.0.1:" + server.port() + "/"),
      HasSubstr("PermissionError: GET http://127.0.0.1:" + server.port() + "/ is not allowed"));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTest, SendsMethodHeadersAndBody) {
  TestServer server(context_, [](const std::string&) { return Ok(""); });
  const HttpToolSpec spec{.rules = {Local(server)}};
  const std::string url = "http://127.0.0.1:" + server.port() + "/";
  Fetch(spec,
        R"({"method":"post","headers":{"X-Mine":"1"},"json":{"a":[1]},"url":")" + url + "\"}");
  EXPECT_THAT(server.requests().at(0), HasSubstr("POST / HTTP/1.1"));
  EXPECT_THAT(server.requests().at(0), HasSubstr("X-Mine: 1\r\n"));
  EXPECT_THAT(server.requests().at(0), HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(server.requests().at(0), HasSubstr("\r\n\r\n{\"a\":[1]}"));
  EXPECT_THAT(Shown(Fetch(spec, R"({"method":"DELETE","url":")" + url + "\"}")),
              HasSubstr("not allowed"));
}

TEST_F(HttpTest, HeadersCannotSmuggle) {
  TestServer server(context_, [](const std::string&) { return Ok(""); });
  const HttpToolSpec spec{.rules = {Local(server)}};
  for (const std::string header :
       {R"("Host":"evil")", R"("content-length":"0")", R"("Transfer-Encoding":"chunked")",
        R"("X":"a\r\nHost: evil")", R"("X\r\nY":"a")", R"("":"a")", R"("X:":"a")",
        R"("X":"1","x":"2")", R"("X-A":"1","x_a":"2")", R"("X-Original-URL":"/admin")",
        R"("x-rewrite-url":"/admin")", R"("X-HTTP-Method-Override":"DELETE")",
        R"("X_HTTP_Method_Override":"DELETE")", R"("X-Forwarded-Host":"evil")"}) {
    EXPECT_THAT(Shown(Fetch(spec, R"({"headers":{)" + header + R"(},"url":"http://127.0.0.1:)" +
                                      server.port() + "/\"}")),
                HasSubstr("TypeError"))
        << header;
  }
  EXPECT_TRUE(server.requests().empty());
}

// No approval is requested for a request that would not be sent.
TEST_F(HttpTest, ARequestThatCannotBeIsRefusedWhenItIsBound) {
  TestServer server(context_, [](const std::string&) { return Ok(""); });
  const auto tool = *Tool::Make({.name = "fetch", .input_schema = HttpInputSchema()},
                                *Http({.rules = {Local(server, "/v1")}, .max_request_bytes = 100},
                                      context_.get_executor(), Names()));
  const std::string base = "http://127.0.0.1:" + server.port();
  const auto refused = [&](Dict arguments) {
    arguments.items.emplace_back("url", base + "/v1");
    const auto bound = tool->Bind({}, std::move(arguments));
    return bound ? std::string() : bound.error().message();
  };
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused(Dict{{{"body", Bytes{"\xff"}}}}), "");
  EXPECT_THAT(refused(Dict{{{"json", std::nan("")}}}), HasSubstr("NaN"));
  EXPECT_THAT(refused(Dict{{{"json", List{{Bytes{"x"}}}}}}), HasSubstr("bytes"));
  EXPECT_THAT(refused(Dict{{{"body", std::string(101, 'x')}}}), HasSubstr("longer than 100"));
  EXPECT_THAT(refused(Dict{{{"body", 1.5}}}), HasSubstr("\"body\" must be a str or bytes"));
  EXPECT_THAT(refused(Dict{{{"method", "DELETE"}}}), HasSubstr("not allowed"));
  EXPECT_THAT(refused(Dict{{{"headers", Dict{{{"X-Rewrite-URL", "/"}}}}}}),
              HasSubstr("cannot be set"));
  const auto elsewhere = tool->Bind({}, Dict{{{"url", base + "/v2"}}});
  EXPECT_EQ(elsewhere.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTest, PrivateAddressesAreRefusedAfterResolution) {
  TestServer server(context_, [](const std::string&) { return Ok("inside"); });
  const auto loopback = asio::ip::make_address("127.0.0.1");
  names_["api.example.com"] = {{loopback}};
  HttpRuleSpec rule = Local(server, "/", "api.example.com");
  rule.private_hosts = PrivateHosts::kRefuse;
  EXPECT_THAT(Get({.rules = {rule}}, rule.url), HasSubstr("not public"));
  names_["api.example.com"] = {{asio::ip::make_address("93.184.216.34"), loopback}};
  EXPECT_THAT(Get({}, rule.url), HasSubstr("not public"));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTest, LiteralPrivateAddressesAreRefusedToo) {
  for (const std::string url : {"http://169.254.169.254/latest", "http://[::1]/",
                                "http://[::ffff:127.0.0.1]/", "http://127.0.0.1/"}) {
    tool_.reset();
    EXPECT_THAT(Get({.rules = {{.url = url, .methods = {"GET"}}}}, url), HasSubstr("not public"))
        << url;
  }
  EXPECT_EQ(lookups_, 0);
}

// The first answer passes the check, the second would not; the name is resolved only once.
TEST_F(HttpTest, ANameIsResolvedOnce) {
  TestServer server(context_, [](const std::string&) { return Ok("inside"); });
  names_["rebind.example.com"] = {{asio::ip::make_address("127.0.0.1")},
                                  {asio::ip::make_address("10.0.0.1")}};
  const HttpRuleSpec rule = Local(server, "/", "rebind.example.com");
  EXPECT_THAT(Get({.rules = {rule}}, rule.url), HasSubstr("inside"));
  EXPECT_EQ(lookups_, 1);
}

TEST_F(HttpTest, RedirectsAreCheckedLikeTheFirstRequest) {
  std::string location;
  TestServer server(context_, [&](const std::string& request) {
    return request.starts_with("GET /start ") ? Redirect(location) : Ok("arrived");
  });
  const HttpToolSpec spec{.rules = {Local(server, "/start"), Local(server, "/ok")}};
  const std::string start = "http://127.0.0.1:" + server.port() + "/start";
  location = "/ok";
  EXPECT_THAT(Get(spec, start), HasSubstr("arrived"));
  location = "ok/x";
  EXPECT_THAT(Get(spec, start), HasSubstr("arrived"));
  for (const std::string elsewhere :
       {"/secret", "http://169.254.169.254/latest/meta-data/", "//evil.example.com/",
        "file:///etc/passwd", "https://127.0.0.1/ok", "/ok/../secret",
        "http://user@127.0.0.1/ok"}) {
    location = elsewhere;
    EXPECT_THAT(Get(spec, start), Not(HasSubstr("arrived"))) << elsewhere;
  }
  for (const auto& request : server.requests()) EXPECT_THAT(request, Not(HasSubstr("/secret")));
}

TEST_F(HttpTest, RedirectsEnd) {
  TestServer server(context_, [](const std::string&) { return Redirect("/again"); });
  EXPECT_THAT(Get({.rules = {Local(server)}, .max_redirects = 3},
                  "http://127.0.0.1:" + server.port() + "/"),
              HasSubstr("too many redirects"));
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST_F(HttpTest, ARedirectedPostBecomesAGet) {
  TestServer server(context_, [](const std::string& request) {
    return request.starts_with("POST") ? Redirect("/next", 303) : Ok("done");
  });
  Fetch(
      {.rules = {Local(server)}},
      R"({"method":"POST","body":"secret body","url":"http://127.0.0.1:)" + server.port() + "/\"}");
  EXPECT_THAT(server.requests().at(1), HasSubstr("GET /next"));
  EXPECT_THAT(server.requests().at(1), Not(HasSubstr("secret body")));
}

TEST_F(HttpTest, SecretsGoToTheirOwnHostAndDoNotComeBack) {
  TestServer other(context_, [](const std::string& request) { return Ok(request); });
  TestServer server(context_, [&](const std::string& request) {
    if (request.starts_with("GET /away "))
      return Redirect("http://127.0.0.1:" + other.port() + "/");
    return Ok(request, "X-Echo: tok-12345678\r\n");
  });
  HttpRuleSpec rule = Local(server);
  rule.secret_headers = {{"Authorization", "Bearer tok-12345678"}};
  const HttpToolSpec spec{.rules = {rule, Local(other)}};
  const std::string base = "http://127.0.0.1:" + server.port();
  // A header of the same name from the code is replaced.
  const std::string shown =
      Shown(Fetch(spec, R"({"headers":{"authorization":"mine"},"url":")" + base + "/\"}"));
  EXPECT_THAT(server.requests().at(0), HasSubstr("Authorization: Bearer tok-12345678\r\n"));
  EXPECT_THAT(server.requests().at(0), Not(HasSubstr("mine")));
  EXPECT_THAT(shown, Not(HasSubstr("tok-12345678")));
  EXPECT_THAT(shown, HasSubstr("[secret]"));
  Fetch(spec, R"({"headers":{"Cookie":"c=1"},"url":")" + base + "/away\"}");
  ASSERT_EQ(other.requests().size(), 1u);
  EXPECT_THAT(other.requests().at(0), Not(HasSubstr("tok-")));
  EXPECT_THAT(other.requests().at(0), Not(HasSubstr("c=1")));
  EXPECT_THAT(HttpDescription(spec), Not(HasSubstr("tok-")));
}

TEST_F(HttpTest, SizesAreBounded) {
  TestServer server(context_, [](const std::string& request) {
    if (request.starts_with("GET /headers "))
      return "HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x');
    if (request.starts_with("GET /endless "))
      return "HTTP/1.1 200 OK\r\n\r\n" + std::string(200'000, 'x');
    return Ok(std::string(1001, 'x'));
  });
  const HttpToolSpec spec{
      .rules = {Local(server)}, .max_request_bytes = 100, .max_response_bytes = 1000};
  const std::string base = "http://127.0.0.1:" + server.port();
  EXPECT_THAT(Get(spec, base + "/"), HasSubstr("LimitError: the answer is longer than 1000 bytes"));
  EXPECT_THAT(Get(spec, base + "/endless"), HasSubstr("LimitError"));
  EXPECT_THAT(Get(spec, base + "/headers"), HasSubstr("Error"));
  EXPECT_THAT(Shown(Fetch(spec, R"({"method":"POST","body":")" + std::string(101, 'x') +
                                    R"(","url":")" + base + "/\"}")),
              HasSubstr("LimitError: the body"));
}

TEST_F(HttpTest, BadAnswersAreErrors) {
  std::string answer;
  TestServer server(context_, [&](const std::string&) { return answer; });
  const HttpToolSpec spec{.rules = {Local(server)}};
  const std::string url = "http://127.0.0.1:" + server.port() + "/";
  for (const std::string bad :
       {"", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n"
        "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"}) {
    answer = bad;
    EXPECT_THAT(Get(spec, url), HasSubstr("ConnectionError")) << bad;
  }
  answer = "HTTP/1.1 100 Continue\r\n\r\n" + Ok("later");
  EXPECT_THAT(Get(spec, url), HasSubstr("later"));
  answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  EXPECT_THAT(Get(spec, url), HasSubstr("\"body\":\"abc\""));
  answer = "HTTP/1.1 200 OK\r\n\r\nto the end";
  EXPECT_THAT(Get(spec, url), HasSubstr("to the end"));
  answer = Ok("\xff\xfe");
  EXPECT_EQ(Get(spec, url), "bytes");
}

TEST_F(HttpTest, ASilentServerTimesOut) {
  TestServer server(context_, [](const std::string&) { return "never"; });
  EXPECT_THAT(Shown(Fetch({.rules = {Local(server)}},
                          R"({"url":"http://127.0.0.1:)" + server.port() + "/\"}", 50ms)),
              HasSubstr("TimeoutError"));
}

TEST_F(HttpTest, RequestsPerMinuteAreLimited) {
  TestServer server(context_, [](const std::string&) { return Ok(""); });
  const HttpToolSpec spec{.rules = {Local(server)}, .calls_per_minute = 2};
  const std::string url = "http://127.0.0.1:" + server.port() + "/";
  EXPECT_THAT(Get(spec, url), HasSubstr("200"));
  EXPECT_THAT(Get(spec, url), HasSubstr("200"));
  EXPECT_THAT(Get(spec, url), HasSubstr("LimitError: too many requests"));
}

TEST_F(HttpTest, TheSystemResolverKnowsLocalhost) {
  asio::thread_pool pool(1);
  std::optional<Result<std::vector<asio::ip::address>>> found;
  Spawn(context_.get_executor(), [&]() -> asio::awaitable<void> {
    found.emplace(co_await SystemResolver(pool.get_executor())("localhost"));
  });
  context_.run();
  pool.join();
  ASSERT_TRUE(*found) << found->error().message();
  EXPECT_TRUE((*found)->at(0).is_loopback());
}

TEST_F(HttpTest, CertificatesAreVerified) {
  const Certificate good = MakeCertificate("good.example.com");
  const std::string file = ::testing::TempDir() + "http_test.pem";
  std::ofstream(file) << good.certificate;
  asio::ssl::context tls(asio::ssl::context::tls_server);
  tls.use_certificate_chain(asio::buffer(good.certificate));
  tls.use_private_key(asio::buffer(good.key), asio::ssl::context::pem);
  TestServer server(context_, [](const std::string&) { return Ok("secure"); }, &tls);
  const auto loopback = asio::ip::make_address("127.0.0.1");
  names_ = {{"good.example.com", {{loopback}}}, {"evil.example.com", {{loopback}}}};
  const auto get = [&](const std::string& host, const std::string& certificates) {
    tool_.reset();
    const std::string url = "https://" + host + ":" + server.port() + "/";
    return Get({.rules = {{.url = url, .methods = {"GET"}, .private_hosts = PrivateHosts::kAllow}},
                .certificates = certificates},
               url);
  };
  EXPECT_THAT(get("good.example.com", file), HasSubstr("secure"));
  EXPECT_THAT(get("evil.example.com", file),
              HasSubstr("ConnectionError: no TLS"));  // Another name.
  EXPECT_THAT(get("good.example.com", ""),
              HasSubstr("ConnectionError: no TLS"));  // Not signed by a trusted authority.
  EXPECT_EQ(server.requests().size(), 1u);
}

}  // namespace
}  // namespace caisson
