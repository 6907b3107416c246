// A JSON Web Token and a key set of arbitrary bytes: never crash, and nothing is accepted without a
// valid signature.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "identity/jwt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const caisson::JwtRules rules{
      .keys = {*caisson::JwtKey::FromSecret(std::string(32, 'k'))}, .issuer = "i", .audience = "a"};
  if (caisson::VerifyJwt(bytes, rules, {})) std::abort();
  (void)caisson::ParseJwkSet(bytes);
  const auto decoded = caisson::DecodeBase64Url(bytes);
  if (decoded && caisson::EncodeBase64Url(*decoded) != bytes) std::abort();
  return 0;
}
