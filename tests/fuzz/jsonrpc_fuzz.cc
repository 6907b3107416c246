// JSON-RPC messages from clients and servers: whatever the bytes, one of four kinds comes out, and what is answered to
// them can be read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "jsonrpc/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson::jsonrpc;
  const Message message = ReadMessage({reinterpret_cast<const char*>(data), size});
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
