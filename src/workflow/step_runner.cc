#include "workflow/step_runner.h"

#include "base/sha256.h"
#include "wire/canonical_json.h"

namespace caisson {

Result<std::string> StepDigest(const StepCall& call) {
  TRY_ASSIGN(const std::string text,
             CanonicalJson(Value(List{
                 {Value("workflow step 1"), Value(call.instance.str()),
                  Value(static_cast<std::int64_t>(call.superstep)), Value(std::int64_t{call.index}),
                  Value(call.executor.id.str()), call.message, Value(call.state)}})));
  return ToHex(Sha256(text));
}

}  // namespace caisson
