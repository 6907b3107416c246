#include "tools/arguments.h"

#include <utility>

#include "base/sha256.h"
#include "wire/canonical_json.h"

namespace caisson {
namespace {

constexpr std::string_view kKind = "caisson arguments 1";

}  // namespace

std::string DigestOf(std::string_view kind, std::string_view bytes) {
  return ToHex(Sha256(std::string(kind).append(1, '\0').append(bytes)));
}

Result<CanonicalArguments> Canonicalize(const Dict& arguments) {
  auto text = CanonicalJson(arguments);
  if (!text) return std::move(text).error().Context("arguments that can be approved");
  std::string digest = DigestOf(kKind, *text);
  return CanonicalArguments{*std::move(text), std::move(digest)};
}

Result<Dict> ParseArguments(std::string_view text, std::string_view digest) {
  const Error refused(ErrorCode::kInvalidArgument, "the stored arguments are not what was hashed");
  if (DigestOf(kKind, text) != digest) return refused;
  TRY_ASSIGN(Value value, ParseCanonicalJson(text));
  auto* dict = std::get_if<Dict>(&value.variant());
  if (dict == nullptr) return refused;
  return std::move(*dict);
}

}  // namespace caisson
