// Messages of an upstream MCP server as arbitrary bytes: events do not depend on how the bytes are
// split, and every message in them is read to a value.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jsonrpc/message.h"
#include "tools/http/event_reader.h"
#include "tools/mcp/upstream_answer.h"
#include "tools/mcp/upstream_messages.h"

namespace {

using namespace caisson;  // NOLINT(google-build-using-namespace)

std::vector<std::string> Events(std::string_view bytes, std::size_t piece) {
  EventReader reader;
  std::vector<std::string> events;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    reader.Put(bytes.substr(0, piece));
    while (auto event = reader.Next()) events.push_back(*std::move(event));
  }
  reader.End();
  while (auto event = reader.Next()) events.push_back(*std::move(event));
  return events;
}

void Take(std::string_view text) {
  const jsonrpc::Message message = jsonrpc::ReadMessage(text);
  if (const auto* told = std::get_if<jsonrpc::Notification>(&message)) {
    const auto notice = ReadProgress(*told);
    if (notice && notice->progress.message.size() > 1500) std::abort();
  } else if (const auto* request = std::get_if<jsonrpc::Request>(&message)) {
    if (ReplyToServer(*request).empty()) std::abort();
  } else if (const auto* response = std::get_if<jsonrpc::Response>(&message)) {
    const auto* result = std::get_if<Value>(&response->outcome);
    const auto* fields = result == nullptr ? nullptr : result->If<Dict>();
    if (fields != nullptr) static_cast<void>(AnswerOf(*fields));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto events = Events(bytes, std::max<std::size_t>(size, 1));
  if (Events(bytes, 1) != events || Events(bytes, 7) != events) std::abort();
  Take(bytes);
  for (const std::string& event : events) Take(event);
  return 0;
}
