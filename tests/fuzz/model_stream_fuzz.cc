// Answers of model servers as arbitrary bytes, in each dialect. The first byte selects the dialect.
// A reply does not depend on how the bytes are split, is equal to the sum of its deltas, and has
// calls with unique ids.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "model/dialect.h"
#include "model/stream_for_test.h"

namespace {

using namespace caisson::model;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kMaxBytes = 1u << 20;

const Dialect& DialectFor(std::uint8_t choice) {
  static const std::array<std::unique_ptr<Dialect>, 3> kDialects = {
      MakeOpenAiChat({.model = "m"}), MakeOpenAiResponses({.model = "m"}),
      MakeAnthropic({.model = "m"})};
  return *kDialects[choice % kDialects.size()];
}

void Check(const Replayed& replayed) {
  if (!replayed.reply) {
    if (replayed.reply.error().code() == caisson::ErrorCode::kInternal) std::abort();
    return;
  }
  std::set<std::string> ids;
  std::size_t calls = 0;
  for (const Item& item : replayed.reply->items) {
    if (!caisson::IsUtf8(Written(item))) std::abort();
    const auto* call = std::get_if<ToolCallItem>(&item);
    if (call == nullptr) continue;
    ++calls;
    ids.insert(call->call_id);
    if (call->name.empty() || call->call_id.empty() || call->arguments.empty()) std::abort();
  }
  if (ids.size() != calls || ids.contains("taken")) std::abort();
  // Arguments and texts are the sums of their deltas.
  std::size_t told = 0;
  for (const Delta& delta : replayed.deltas) {
    if (const auto* piece = std::get_if<ArgumentsDelta>(&delta)) told += piece->text.size();
  }
  for (const Item& item : replayed.reply->items) {
    if (const auto* call = std::get_if<ToolCallItem>(&item)) told -= call->arguments.size();
  }
  // Blank arguments are replaced by "{}" after their deltas.
  if (told > kMaxBytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Dialect& dialect = DialectFor(data[0]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto replay = [&](std::size_t cut) {
    return Replay(dialect, bytes, cut, {"taken"}, kMaxBytes);
  };
  const Replayed whole = replay(bytes.size());
  Check(whole);
  const Replayed bytewise = replay(kEachByte);
  if (Written(whole.reply) != Written(bytewise.reply)) std::abort();
  if (Written(replay(bytes.size() / 2).reply) != Written(whole.reply)) std::abort();
  return 0;
}
