// JSON-RPC messages from clients and servers: any bytes give one of four kinds, or an array of
// them, and the answers to them can be read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "jsonrpc/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson::jsonrpc;  // NOLINT(google-build-using-namespace)
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  const Batch batch = ReadBatch(given);
  if (batch.messages.empty() || batch.messages.size() > kMaxBatch) std::abort();
  const Message message = ReadMessage(given);
  if (!batch.is_array && message.index() != batch.messages.front().index()) std::abort();
  if (const auto* request = std::get_if<Request>(&message)) {
    const std::string text = RequestText(request->id, request->method, request->params);
    const Message again = ReadMessage(text);
    const auto* same = std::get_if<Request>(&again);
    if (same == nullptr || same->id != request->id || same->method != request->method) std::abort();
  } else if (const auto* bad = std::get_if<BadMessage>(&message)) {
    if (ReplyText(bad->id, bad->error).empty()) std::abort();
  }
  return 0;
}
