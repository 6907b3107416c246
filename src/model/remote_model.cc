#include "model/remote_model.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/run_on.h"
#include "base/spawn.h"
#include "model/retry.h"
#include "model/server_error.h"
#include "model/stream_reader.h"

namespace caisson::model {
namespace {

constexpr std::size_t kMaxErrorBody = 64u << 10;
constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

double Random() {
  std::random_device device;
  return static_cast<double>(device()) / static_cast<double>(std::random_device::max());
}

// Headers hold secrets as a whole or behind a word: "Bearer abc".
std::vector<std::string> SecretsOf(const ModelOptions& options) {
  std::vector<std::string> secrets = {options.key};
  for (const auto& [name, value] : options.headers) {
    secrets.push_back(value);
    if (const std::size_t blank = value.rfind(' '); blank != value.npos) {
      secrets.push_back(value.substr(blank + 1));
    }
  }
  return secrets;
}

Error Cancelled() {
  return Error(ErrorCode::kCancelled, "the request was cancelled");
}

}  // namespace

class RemoteModel::Attempts {
 public:
  Attempts(const RemoteModel& model, const ModelRequest& request, std::string body,
           OnDelta on_delta)
      : model_(model),
        taken_ids_(CallIds(request.items)),
        body_(std::move(body)),
        on_delta_(std::move(on_delta)) {}

  asio::awaitable<Result<ModelReply>> Run() {
    co_await asio::this_coro::throw_if_cancelled(false);
    for (std::uint32_t attempt = 1;; ++attempt) {
      is_repeatable_ = false;
      asked_wait_.reset();
      auto reply = co_await Try();
      if (reply || !is_repeatable_ || was_used_ || attempt >= model_.options_.attempts) {
        co_return std::move(reply);
      }
      const auto wait = asked_wait_.value_or(UsualWait(attempt, Random()));
      if (wait > kLongestAskedWait) co_return std::move(reply);
      asio::steady_timer timer(co_await asio::this_coro::executor, wait);
      co_await timer.async_wait(kQuietly);
      if (co_await IsCancelled()) co_return Cancelled();
    }
  }

 private:
  // Collects the body of one answer.
  struct Answer {
    std::optional<StreamReader> reader{};
    std::string error_body{};
    int status = 0;
  };

  asio::awaitable<Result<ModelReply>> Try() {
    Answer answer;
    ReplyBuilder builder(
        [this](const Delta& delta) {
          was_used_ = true;
          if (on_delta_) on_delta_(delta);
        },
        taken_ids_, {.bytes = model_.options_.max_reply_bytes});
    answer.reader.emplace(model_.dialect_->Read(std::move(builder)),
                          model_.options_.max_reply_bytes);
    auto head = co_await model_.client_->Send(
        model_.MakeRequest(body_), model_.hosts_,
        [&answer](const HttpResponse& response, std::string_view piece) {
          return Take(answer, response, piece);
        });
    if (!head) co_return Broken(answer, std::move(head).error());
    if (head->status / 100 != 2) co_return Refused(answer, *head);
    auto reply = answer.reader->End();
    // The server failed in the middle, or the stream was cut.
    is_repeatable_ = !reply && reply.error().code() == ErrorCode::kUnavailable;
    co_return reply;
  }

  static Rest Take(Answer& answer, const HttpResponse& response, std::string_view piece) {
    answer.status = response.status;
    if (response.status / 100 != 2) {
      answer.error_body.append(piece.substr(0, kMaxErrorBody - answer.error_body.size()));
      return answer.error_body.size() < kMaxErrorBody ? Rest::kWanted : Rest::kUnwanted;
    }
    const auto progress = answer.reader->Put(piece);
    return progress && *progress == Progress::kMore ? Rest::kWanted : Rest::kUnwanted;
  }

  // The connection failed. The reply may be complete all the same.
  Result<ModelReply> Broken(Answer& answer, Error error) {
    if (error.code() == ErrorCode::kCancelled) return error;
    if (answer.status != 0 && answer.status / 100 != 2) {
      return Refused(answer, {.status = answer.status});
    }
    if (answer.status / 100 == 2) {
      auto reply = answer.reader->End();
      if (reply) return reply;
      // The error of the server says more than that of the connection.
      if (reply.error().code() != ErrorCode::kUnavailable) return reply;
    }
    is_repeatable_ = error.code() == ErrorCode::kUnavailable;
    return error;
  }

  Result<ModelReply> Refused(const Answer& answer, const HttpResponse& head) {
    is_repeatable_ = IsWorthRepeating(head);
    asked_wait_ = AskedWait(head, SystemClock().Now());
    return StatusError(head.status, answer.error_body);
  }

  const RemoteModel& model_;
  const std::set<std::string> taken_ids_;
  const std::string body_;
  const OnDelta on_delta_;
  bool was_used_ = false;  // Output was passed on; a repetition would duplicate it.
  bool is_repeatable_ = false;
  std::optional<std::chrono::milliseconds> asked_wait_;
};

RemoteModel::RemoteModel(ModelOptions options, HttpUrl base, std::unique_ptr<const Dialect> dialect,
                         std::unique_ptr<const HttpClient> client)
    : options_(std::move(options)),
      base_(std::move(base)),
      hosts_(base_.secure || options_.plain_http == ModelOptions::PlainHttp::kAnyHost
                 ? PrivateHosts::kAllow
                 : PrivateHosts::kOnly),
      secrets_(SecretsOf(options_)),
      dialect_(std::move(dialect)),
      client_(std::move(client)) {}

HttpRequest RemoteModel::MakeRequest(std::string body) const {
  HttpRequest request{.method = "POST", .url = base_, .body = std::move(body)};
  request.url.path.append(dialect_->path());
  request.headers = {{"Content-Type", "application/json"},
                     {"Accept", "text/event-stream, application/json"},
                     {"User-Agent", "caisson"}};
  for (auto& header : dialect_->Headers(options_.key)) request.headers.push_back(std::move(header));
  for (const auto& header : options_.headers) request.headers.push_back(header);
  return request;
}

asio::awaitable<Result<ModelReply>> RemoteModel::Generate(ModelRequest request, OnDelta on_delta) {
  co_await asio::this_coro::throw_if_cancelled(false);
  if (!request.max_output_tokens) request.max_output_tokens = options_.max_output_tokens;
  auto body = ToJson(dialect_->Body(request));
  if (!body) {
    co_return Error(
        ErrorCode::kInvalidArgument,
        "the request for the model cannot be written as JSON: " + body.error().message());
  }
  Attempts attempts(*this, request, *std::move(body), std::move(on_delta));
  asio::steady_timer timer(co_await asio::this_coro::executor, options_.times.total);
  auto reply = co_await Race(attempts.Run(), timer.async_wait(kQuietly));
  if (reply && *reply) co_return *std::move(reply);
  if (co_await IsCancelled()) co_return Cancelled();
  if (!reply) {
    co_return Error(ErrorCode::kDeadlineExceeded,
                    base_.Authority() + " did not finish its reply within " +
                        std::to_string(options_.times.total.count()) + " ms");
  }
  co_return Presentable(std::move(*reply).error(), secrets_);
}

}  // namespace caisson::model
