#include "protocol/mcp/request_state.h"

#include <cstdint>
#include <utility>

#include "base/base64.h"
#include "base/sha256.h"
#include "wire/canonical_json.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

// An approval has its own expiry; this is the upper bound for a state.
constexpr std::chrono::hours kGoodFor{24 * 7};

std::int64_t SecondsOf(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Injective: a canonical array of everything that the state is bound to.
Result<std::string> BindingOf(const IsolationKey& owner, const StatePurpose& purpose) {
  TRY_ASSIGN(const std::string arguments, CanonicalJson(Value(purpose.arguments)));
  return CanonicalJson(List{{Value(owner.str()), Value("tools/call"), Value(purpose.tool),
                             Value(ToHex(Sha256(arguments)))}});
}

Error Refused() {
  return Error(ErrorCode::kInvalidArgument,
               "requestState does not belong to this call, or has expired");
}

}  // namespace

Result<std::string> RequestStates::Seal(const IsolationKey& owner, const StatePurpose& purpose,
                                        const RequestState& state) const {
  List approvals;
  for (const ApprovalId& id : state.approvals) approvals.items.emplace_back(id.str());
  TRY_ASSIGN(const std::string text,
             ToJson(Object({{"run", state.run.str()},
                            {"approvals", std::move(approvals)},
                            {"until", SecondsOf(clock_.Now() + kGoodFor)}})));
  TRY_ASSIGN(const std::string binding, BindingOf(owner, purpose));
  TRY_ASSIGN(const std::string sealed, keys_.Seal(KeyPurpose::kRequestState, binding, text));
  return EncodeBase64Url(sealed);
}

Result<RequestState> RequestStates::Open(const IsolationKey& owner, const StatePurpose& purpose,
                                         std::string_view carried) const {
  const auto sealed = DecodeBase64Url(carried);
  if (!sealed) return Refused();
  TRY_ASSIGN(const std::string binding, BindingOf(owner, purpose));
  const auto text = keys_.Open(KeyPurpose::kRequestState, binding, *sealed);
  if (!text) return Refused();
  TRY_ASSIGN(const Value value, ParseJson(*text));  // Trusted: it was sealed.
  const Dict& fields = *value.If<Dict>();
  if (*FindAs<std::int64_t>(fields, "until") < SecondsOf(clock_.Now())) return Refused();
  RequestState state{.run = RunId(*FindAs<std::string>(fields, "run"))};
  for (const Value& id : FindAs<List>(fields, "approvals")->items) {
    state.approvals.emplace_back(*id.If<std::string>());
  }
  return state;
}

}  // namespace caisson::mcp
