#include "tools/mcp/pipe_link.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/spawn.h"
#include "tools/mcp/upstream_messages.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxLogBytes = 64u << 10;  // Total.

}  // namespace

Result<std::shared_ptr<PipeLink>> PipeLink::Start(const asio::any_io_executor& io,
                                                  PipeLinkSpec spec) {
  TRY_ASSIGN(jail::Program program, jail::Program::Start({.argv = spec.argv,
                                                          .input_from = jail::InputFrom::kPipe,
                                                          .environment = spec.environment,
                                                          .directory = spec.directory,
                                                          .errors = jail::ErrorOutput::kPipe}));
  const std::shared_ptr<PipeLink> link(
      new PipeLink(asio::make_strand(io), std::move(program), std::move(spec)));
  Spawn(link->executor_, Listen(link));
  Spawn(link->executor_, ReadLog(link));
  return link;
}

PipeLink::PipeLink(asio::any_io_executor executor, jail::Program program, PipeLinkSpec spec)
    : executor_(std::move(executor)),
      spec_(std::move(spec)),
      program_(std::move(program)),
      lines_(executor_, {.input = std::move(program_.output()),
                         .output = std::move(program_.input()),
                         .max_line_bytes = spec_.max_message_bytes}),
      log_(executor_, program_.log().Release()),
      questions_(executor_) {}

asio::awaitable<void> PipeLink::Listen(std::shared_ptr<PipeLink> self) {
  while (auto line = co_await self->lines_.Read()) {
    // A line that is too long may have been the answer to any question, so the link ends and nobody
    // keeps waiting.
    if (line->too_long) break;
    if (line->text.find_first_not_of(" \t\r") == std::string::npos) continue;
    self->Take(jsonrpc::ReadMessage(line->text));
  }
  self->Close();
}

asio::awaitable<void> PipeLink::ReadLog(std::shared_ptr<PipeLink> self) {
  std::array<char, 4096> buffer;
  std::size_t left = kMaxLogBytes;
  for (;;) {
    const auto [error, got] = co_await self->log_.async_read_some(
        asio::buffer(buffer), asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
    const std::size_t kept = std::min(got, left);
    if (kept > 0 && self->spec_.log) self->spec_.log({buffer.data(), kept});
    left -= kept;
  }
}

void PipeLink::Take(jsonrpc::Message message) {
  if (auto* response = std::get_if<jsonrpc::Response>(&message)) {
    questions_.Answer(std::move(*response));
  } else if (const auto* notification = std::get_if<jsonrpc::Notification>(&message)) {
    TakeNotice(*notification);
  } else if (const auto* request = std::get_if<jsonrpc::Request>(&message)) {
    if (lines_.unsent_bytes() > spec_.max_message_bytes)
      return Close();  // It sends requests and does not read.
    lines_.Write(ReplyToServer(*request));
  }
}

void PipeLink::TakeNotice(const jsonrpc::Notification& notification) {
  if (notification.method == kListChanged && spec_.on_list_changed) spec_.on_list_changed();
  const auto notice = ReadProgress(notification);
  const auto* token = notice ? notice->token.If<std::string>() : nullptr;
  const auto listener = token == nullptr ? listeners_.end() : listeners_.find(*token);
  if (listener != listeners_.end()) listener->second(notice->progress);
}

asio::awaitable<Result<Dict>> PipeLink::Ask(std::string method, Dict params,
                                            OnProgress on_progress) {
  if (broken_) co_return Error(ErrorCode::kUnavailable, "the server is gone");
  std::string asked;
  auto answer = co_await questions_.Ask([&](const Value& id) {
    asked = *id.If<std::string>();
    if (on_progress) {
      AddProgressToken(params, id);
      listeners_.emplace(asked, std::move(on_progress));
    }
    lines_.Write(jsonrpc::RequestText(id, method, std::move(params)));
  });
  listeners_.erase(asked);
  if (!answer) {
    if (answer.error().code() == ErrorCode::kCancelled && method != "initialize") {
      lines_.Write(CancelledText(asked));
    }
    co_return std::move(answer).error();
  }
  auto* result = std::get_if<Dict>(&answer->variant());
  if (result == nullptr)
    co_return Error(ErrorCode::kUnavailable, "the server's answer is not an object");
  co_return std::move(*result);
}

asio::awaitable<void> PipeLink::Tell(std::string method, Dict params) {
  lines_.Write(jsonrpc::NotificationText(method, std::move(params)));
  co_return;
}

void PipeLink::Close() {
  if (broken_.exchange(true)) return;
  questions_.GiveUp();
  lines_.Close();
  boost::system::error_code ignored;
  log_.close(ignored);
  program_.Kill();
}

}  // namespace caisson
