#include "model/remote_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/run_on.h"
#include "base/spawn.h"
#include "model/make_model.h"
#include "model/stream_for_test.h"
#include "tools/http/server_for_test.h"

namespace caisson::model {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kKey = "sk-very-secret-key";

std::string Answer(int status, const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const std::string kHello = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n";
const std::string kEnd = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

class RemoteModelTest : public ::testing::Test {
 protected:
  // Starts a server with these answers, one for each request; the last one is repeated.
  TestServer& Serve(std::vector<std::string> answers, asio::ssl::context* tls = nullptr) {
    server_ = std::make_unique<TestServer>(
        io_,
        [answers, next = 0u](const std::string&) mutable {
          return answers[std::min<std::size_t>(next++, answers.size() - 1)];
        },
        tls);
    return *server_;
  }

  ModelOptions Options() {
    return {
        .kind = ModelKind::kOpenAiChat,
        .base_url = "http://127.0.0.1:" + server_->port() + "/v1",
        .model = "m",
        .key = std::string(kKey),
        .resolver =
            [this](std::string name) -> asio::awaitable<Result<std::vector<asio::ip::address>>> {
          names_.push_back(name);
          co_return std::vector{asio::ip::make_address(address_)};
        }};
  }

  Result<ModelReply> Ask(ModelOptions options, ModelRequest request = {}) {
    auto model = MakeModel(std::move(options));
    if (!model) return model.error();
    std::optional<Result<ModelReply>> reply;
    Spawn(stop_, [&]() -> asio::awaitable<void> {
      reply.emplace(co_await (*model)->Generate(request, [this](const Delta& delta) {
        deltas_.push_back(delta);
        if (on_delta_) on_delta_();
      }));
    });
    io_.restart();
    while (!reply && io_.run_one() > 0) {
    }
    return *std::move(reply);
  }
  Result<ModelReply> Ask() { return Ask(Options()); }

  asio::io_context io_;
  Stop stop_{io_.get_executor()};
  std::unique_ptr<TestServer> server_;
  std::string address_ = "127.0.0.1";
  std::vector<std::string> names_;
  std::vector<Delta> deltas_;
  std::function<void()> on_delta_;
};

TEST_F(RemoteModelTest, StreamsAReply) {
  Serve({kHead + kHello + kEnd});
  EXPECT_THAT(Written(Ask()), ElementsAre("text \"Hello\""));
  EXPECT_THAT(deltas_, SizeIs(1));
  const std::string& request = server_->requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer sk-very-secret-key\r\n"));
  EXPECT_THAT(request, HasSubstr("\"stream\":true"));
}

TEST_F(RemoteModelTest, SendsTheSettingsWithEachRequest) {
  Serve({kHead + kEnd});
  auto options = Options();
  options.base_url += "/?api-version=1";
  options.headers = {{"X-Extra", "1"}};
  options.max_output_tokens = 77;
  EXPECT_TRUE(Ask(options));
  EXPECT_THAT(server_->requests().at(0), HasSubstr("\"max_tokens\":77"));
  EXPECT_THAT(server_->requests().at(0), HasSubstr("POST /v1/chat/completions?api-version=1 HTTP"));
  EXPECT_THAT(server_->requests().at(0), HasSubstr("X-Extra: 1\r\n"));
}

TEST_F(RemoteModelTest, ReadsAReplyThatIsNotStreamed) {
  Serve({Answer(200, R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]})")});
  auto options = Options();
  options.streaming = ModelOptions::Streaming::kOff;
  EXPECT_THAT(Written(Ask(options)), ElementsAre("text \"Hi\""));
  EXPECT_THAT(server_->requests().at(0), Not(HasSubstr("\"stream\"")));
}

TEST_F(RemoteModelTest, SpeaksEachDialect) {
  Serve({kHead + "data: {\"type\":\"message_stop\"}\n\n"});
  auto options = Options();
  options.kind = ModelKind::kAnthropic;
  EXPECT_TRUE(Ask(options));
  EXPECT_THAT(server_->requests().at(0), HasSubstr("POST /v1/messages HTTP"));
  EXPECT_THAT(server_->requests().at(0), HasSubstr("x-api-key: sk-very-secret-key\r\n"));
  Serve({kHead + R"(data: {"type":"response.completed","response":{"status":"completed"}})"
                 "\n\n"});
  options = Options();
  options.kind = ModelKind::kOpenAiResponses;
  EXPECT_TRUE(Ask(options));
  EXPECT_THAT(server_->requests().at(0), HasSubstr("POST /v1/responses HTTP"));
}

TEST_F(RemoteModelTest, RepeatsARequestAfterTooManyRequests) {
  Serve({Answer(429, "{}", "Retry-After-Ms: 1\r\n"), Answer(500, "", "Retry-After: 0\r\n"),
         kHead + kHello + kEnd});
  EXPECT_THAT(Written(Ask()), ElementsAre("text \"Hello\""));
  EXPECT_THAT(server_->requests(), SizeIs(3));
}

TEST_F(RemoteModelTest, GivesUpAfterTheLastAttempt) {
  Serve({Answer(503, R"({"error":{"message":"overloaded"}})", "Retry-After-Ms: 1\r\n")});
  auto options = Options();
  options.attempts = 2;
  const auto reply = Ask(options);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(reply.error().message(), HasSubstr("status 503: overloaded"));
  EXPECT_THAT(server_->requests(), SizeIs(2));
}

TEST_F(RemoteModelTest, DoesNotWaitAsLongAsAServerLikes) {
  Serve({Answer(429, "slow down", "Retry-After: 3600\r\n")});
  const auto reply = Ask();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(RemoteModelTest, ARefusedRequestIsNotRepeated) {
  for (const auto& [status, code] : {std::pair{400, ErrorCode::kInvalidArgument},
                                     {401, ErrorCode::kPermissionDenied},
                                     {404, ErrorCode::kInvalidArgument},
                                     {302, ErrorCode::kUnavailable}}) {
    Serve({Answer(status, "no", "Location: http://127.0.0.1/\r\n")});
    const auto reply = Ask();
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code(), code) << status;
    EXPECT_THAT(server_->requests(), SizeIs(1)) << status;
  }
  Serve({Answer(500, "no", "X-Should-Retry: false\r\n")});
  EXPECT_FALSE(Ask());
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(RemoteModelTest, ARefusalCountsAlsoIfItsTextIsCut) {
  Serve({"HTTP/1.1 400 X\r\nContent-Length: 999\r\n\r\n{\"error\": \"bad req"});
  const auto reply = Ask();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(reply.error().message(), HasSubstr("bad req"));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(RemoteModelTest, NothingIsRepeatedAfterOutputWasUsed) {
  Serve({kHead + kHello, kHead + kHello + kEnd});
  const auto reply = Ask();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(deltas_, SizeIs(1));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(RemoteModelTest, AStreamThatWasCutBeforeItsOutputIsRepeated) {
  Serve({kHead + ": ping\n\n", kHead + kHello + kEnd});
  EXPECT_THAT(Written(Ask()), ElementsAre("text \"Hello\""));
  EXPECT_THAT(server_->requests(), SizeIs(2));
}

TEST_F(RemoteModelTest, AReplyIsCompleteWithoutTheEndOfItsConnection) {
  Serve({"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + kHello +
         "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n"});
  EXPECT_THAT(Written(Ask()), ElementsAre("text \"Hello\""));
}

TEST_F(RemoteModelTest, ErrorsDoNotShowTheKey) {
  // Behind 490 bytes, so that shortening alone would leave a part of it.
  Serve({Answer(401, std::string(440, 'x') + " Wrong key: " + std::string(kKey) + "\n\x1b[2J")});
  const auto reply = Ask();
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message(), HasSubstr("check the key"));
  EXPECT_THAT(reply.error().message(), Not(HasSubstr("sk-very")));
  EXPECT_THAT(reply.error().message(), Not(HasSubstr("\x1b")));
  EXPECT_LT(reply.error().message().size(), 600u);
  Serve({kHead + "data: {\"error\":{\"message\":\"key sk-very-secret-key; Bearer abcd-efgh\","
                 "\"type\":\"permission_error\"}}\n\n"});
  auto options = Options();
  options.headers = {{"X-Auth", "Bearer abcd-efgh"}};
  EXPECT_THAT(Ask(options).error().message(), HasSubstr("key [key]; [key]"));
}

TEST_F(RemoteModelTest, AServerThatSendsNothingIsTooLate) {
  Serve({"never"});
  auto options = Options();
  options.times.first_byte = 20ms;
  const auto reply = Ask(options);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(reply.error().message(), HasSubstr("no answer within 20 ms"));
  EXPECT_THAT(server_->requests(), SizeIs(1));
}

TEST_F(RemoteModelTest, AServerThatStopsInTheMiddleIsTooLate) {
  Serve({kHead + kHello + "never"});
  auto options = Options();
  options.times.idle = 20ms;
  const auto reply = Ask(options);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(reply.error().message(), HasSubstr("nothing more"));
}

TEST_F(RemoteModelTest, TheWholeReplyHasATimeLimit) {
  Serve({kHead + kHello + "never"});
  auto options = Options();
  options.times.total = 30ms;
  const auto reply = Ask(options);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(reply.error().message(), HasSubstr("within 30 ms"));
}

TEST_F(RemoteModelTest, CancellingClosesTheConnection) {
  Serve({kHead + kHello + "never"});
  on_delta_ = [this] { stop_.Request(); };
  const auto reply = Ask();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kCancelled);
  while (server_->closed() == 0 && io_.run_one() > 0) {
  }
  EXPECT_EQ(server_->closed(), 1);
}

TEST_F(RemoteModelTest, AWaitBeforeARepetitionCanBeCancelled) {
  Serve({Answer(429, "", "Retry-After: 60\r\n")});
  asio::steady_timer soon(io_, 20ms);
  soon.async_wait([this](auto) { stop_.Request(); });
  EXPECT_EQ(Ask().error().code(), ErrorCode::kCancelled);
}

TEST_F(RemoteModelTest, PlainHttpStaysInTheNetwork) {
  Serve({kHead + kEnd});
  auto options = Options();
  options.base_url = "http://model.example:" + server_->port() + "/v1";
  EXPECT_TRUE(Ask(options)) << "a name with a private address";
  address_ = "93.184.216.34";
  const auto reply = Ask(options);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_THAT(reply.error().message(), HasSubstr("use https"));
  EXPECT_THAT(names_, ElementsAre("model.example", "model.example"));
}

// A proxy that connects every client to one server.
class Proxy {
 public:
  Proxy(asio::io_context& io, std::string port, std::string answer)
      : acceptor_(io, {asio::ip::address_v4::loopback(), 0}),
        port_(static_cast<std::uint16_t>(std::stoi(port))),
        answer_(std::move(answer)) {
    Spawn(io.get_executor(), Serve(), [](const std::exception_ptr&) {});
  }
  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }
  const std::string& request() const { return request_; }

 private:
  asio::awaitable<void> Serve() {
    auto client = co_await acceptor_.async_accept(asio::use_awaitable);
    co_await asio::async_read_until(client, asio::dynamic_buffer(request_), "\r\n\r\n",
                                    asio::use_awaitable);
    co_await asio::async_write(client, asio::buffer(answer_), asio::use_awaitable);
    tcp::socket server(acceptor_.get_executor());
    co_await server.async_connect({asio::ip::address_v4::loopback(), port_}, asio::use_awaitable);
    co_await Both(Pump(client, server), Pump(server, client));
  }
  static asio::awaitable<void> Pump(tcp::socket& from, tcp::socket& to) {
    std::array<char, 4096> buffer;
    for (;;) {
      const auto [failed, got] =
          co_await from.async_read_some(asio::buffer(buffer), kQuietlyForTest);
      if (failed) break;
      co_await asio::async_write(to, asio::buffer(buffer, got), kQuietlyForTest);
    }
    boost::system::error_code ignored;
    to.shutdown(tcp::socket::shutdown_send, ignored);
  }

  tcp::acceptor acceptor_;
  const std::uint16_t port_;
  const std::string answer_;
  std::string request_;
};

class SecureModelTest : public RemoteModelTest {
 protected:
  SecureModelTest() : tls_(asio::ssl::context::tls_server) {
    const Certificate good = MakeCertificate("good.example.com");
    // One file per process: tests may run at the same time.
    file_ = ::testing::TempDir() + "remote_model_test." + std::to_string(::getpid()) + ".pem";
    std::ofstream(file_) << good.certificate;
    tls_.use_certificate_chain(asio::buffer(good.certificate));
    tls_.use_private_key(asio::buffer(good.key), asio::ssl::context::pem);
  }
  ~SecureModelTest() override { std::filesystem::remove(file_); }

  ModelOptions Secure(const std::string& host) {
    auto options = Options();
    options.base_url = "https://" + host + ":" + server_->port() + "/v1";
    options.certificates = file_;
    options.attempts = 1;
    return options;
  }

  asio::ssl::context tls_;
  std::string file_;
};

TEST_F(SecureModelTest, AskedOverTls) {
  Serve({kHead + kHello + kEnd}, &tls_);
  EXPECT_THAT(Written(Ask(Secure("good.example.com"))), ElementsAre("text \"Hello\""));
}

TEST_F(SecureModelTest, AWrongCertificateIsRefused) {
  Serve({kHead + kHello + kEnd}, &tls_);
  const auto other_name = Ask(Secure("evil.example.com"));
  ASSERT_FALSE(other_name);
  EXPECT_EQ(other_name.error().code(), ErrorCode::kUnavailable);
  auto untrusted = Secure("good.example.com");
  untrusted.certificates.clear();
  EXPECT_FALSE(Ask(untrusted));
  EXPECT_THAT(server_->requests(), SizeIs(0)) << "the key must not leave";
}

TEST_F(SecureModelTest, AStreamOverTlsCanBeCancelled) {
  Serve({kHead + kHello + "never"}, &tls_);
  on_delta_ = [this] { stop_.Request(); };
  EXPECT_EQ(Ask(Secure("good.example.com")).error().code(), ErrorCode::kCancelled);
}

TEST_F(SecureModelTest, GoesThroughTheProxyWithoutShowingTheKey) {
  Serve({kHead + kHello + kEnd}, &tls_);
  Proxy proxy(io_, server_->port(), "HTTP/1.1 200 Connection established\r\n\r\n");
  auto options = Secure("good.example.com");
  options.proxy = *HttpProxy::Parse("http://ann:pass@127.0.0.1:" + proxy.port(), "");
  EXPECT_THAT(Written(Ask(options)), ElementsAre("text \"Hello\""));
  EXPECT_THAT(proxy.request(), HasSubstr("CONNECT good.example.com:" + server_->port()));
  EXPECT_THAT(proxy.request(), HasSubstr("Proxy-Authorization: Basic YW5uOnBhc3M="));
  EXPECT_THAT(proxy.request(), Not(HasSubstr(kKey)));
  EXPECT_THAT(names_, SizeIs(0)) << "the proxy resolves the name";
}

TEST_F(SecureModelTest, TheProxyMayRefuse) {
  Serve({kHead + kHello + kEnd}, &tls_);
  for (const auto& [answer, said] :
       {std::pair{"HTTP/1.1 407 No\r\n\r\n", "check HTTPS_PROXY"},
        {"HTTP/1.1 502 No\r\n\r\n", "(status 502)"},
        {"SSH-2.0-x\r\n\r\n", "not valid HTTP"},
        {"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "more than an answer"}}) {
    Proxy proxy(io_, server_->port(), answer);
    auto options = Secure("good.example.com");
    options.proxy = *HttpProxy::Parse("127.0.0.1:" + proxy.port(), "");
    EXPECT_THAT(Ask(options).error().message(), HasSubstr(said));
  }
}

TEST_F(SecureModelTest, ServersInNoProxyAreReachedDirectly) {
  Serve({kHead + kHello + kEnd}, &tls_);
  auto options = Secure("good.example.com");
  options.proxy = *HttpProxy::Parse("http://127.0.0.1:1", "example.com");
  EXPECT_TRUE(Ask(options));
}

TEST_F(RemoteModelTest, WrongSettingsAreRefused) {
  Serve({""});
  const auto message = [&](auto change) {
    auto options = Options();
    change(options);
    const auto model = MakeModel(options);
    return model ? std::string("no error") : model.error().message();
  };
  EXPECT_THAT(message([](auto& o) { o.model.clear(); }), HasSubstr("model is missing"));
  EXPECT_THAT(message([](auto& o) { o.base_url = "api.openai.com"; }), HasSubstr("base_url"));
  EXPECT_THAT(message([](auto& o) { o.attempts = 0; }), HasSubstr("from 1 to 10"));
  EXPECT_THAT(message([](auto& o) { o.times.total = 0ms; }), HasSubstr("more than zero"));
  EXPECT_THAT(message([](auto& o) { o.max_reply_bytes = 1u << 30; }), HasSubstr("max_reply_bytes"));
  EXPECT_THAT(message([](auto& o) { o.headers = {{"Host", "x"}}; }), HasSubstr("cannot be set"));
  EXPECT_THAT(message([](auto& o) { o.headers = {{"X", "a\r\nb"}}; }), HasSubstr("invalid"));
  const std::string key = message([](auto& o) { o.key = "abc-secret\n"; });
  EXPECT_THAT(key, HasSubstr("line end"));
  EXPECT_THAT(key, Not(HasSubstr("abc")));
}

}  // namespace
}  // namespace caisson::model
