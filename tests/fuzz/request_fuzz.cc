// The parts of a request that our own code reads: the target, header lists, the access rules, the
// bodies of the REST door. (Beast handles the framing.) Accepted input must satisfy the contracts
// of their headers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "net/access.h"
#include "net/headers.h"
#include "net/target.h"
#include "protocol/rest/run_request.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto target = net::ParseTarget(text)) {
    for (const std::string& segment : target->segments) {
      Check(!segment.empty() && segment != "." && segment != ".." && IsUtf8(segment));
      Check(net::IsFieldValue(segment));
    }
  }
  const std::string value(text);
  net::HasToken(text, "application/json");
  const net::Headers headers{{.name = "Host", .value = value}, {.name = "Origin", .value = value}};
  // Only its own names name this server.
  Check(net::Refuses(net::AccessRules::LoopbackOnly(), headers).has_value());
  if (const auto request = rest::ParseRunBody(text, {})) Check(IsUtf8(request->start.code));
  if (const auto decision = rest::ParseAnswer(text)) {
    Check(decision->verdict == ApprovalState::kApproved ||
          decision->verdict == ApprovalState::kDenied);
  }
  return 0;
}
