#include "identity/jwk.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/sha256.h"
#include "wire/json.h"

namespace caisson {
namespace {

constexpr std::size_t kMinSecretBytes = 32;  // RFC 7518 3.2: as long as the hash.
constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;  // Verification gets slow with size, and a set may name many.
constexpr std::size_t kEs256Bytes = 32;

template <typename T, void (*free)(T*)>
struct Free {
  void operator()(T* object) const { free(object); }
};
using Number = std::unique_ptr<BIGNUM, Free<BIGNUM, BN_free>>;
using PkeyContext = std::unique_ptr<EVP_PKEY_CTX, Free<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX, EVP_MD_CTX_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Free<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Free<OSSL_PARAM, OSSL_PARAM_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Free<ECDSA_SIG, ECDSA_SIG_free>>;
using PublicKey = std::shared_ptr<EVP_PKEY>;

Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

const unsigned char* Raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number ToNumber(std::string_view big_endian) {
  return Number(BN_bin2bn(Raw(big_endian), static_cast<int>(big_endian.size()), nullptr));
}

PublicKey Own(EVP_PKEY* key) {
  return PublicKey(key, EVP_PKEY_free);
}

// Returns null if OpenSSL does not accept it as a public key of that type.
PublicKey MakePublicKey(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  return Own(key);
}

// Converts the two numbers of a raw ES256 signature to the DER form that OpenSSL checks; empty if
// it is malformed.
std::string ToDer(std::string_view signature) {
  if (signature.size() != 2 * kEs256Bytes) return {};
  Signature parts(ECDSA_SIG_new());
  Number r = ToNumber(signature.substr(0, kEs256Bytes));
  Number s = ToNumber(signature.substr(kEs256Bytes));
  if (!parts || !r || !s || ECDSA_SIG_set0(parts.get(), r.get(), s.get()) != 1) return {};
  // `parts` owns both now.
  static_cast<void>(r.release());
  static_cast<void>(s.release());
  std::string der(static_cast<std::size_t>(std::max(i2d_ECDSA_SIG(parts.get(), nullptr), 0)), '\0');
  auto* out = reinterpret_cast<unsigned char*>(der.data());
  i2d_ECDSA_SIG(parts.get(), &out);
  return der;
}

bool VerifiesWith(EVP_PKEY* key, std::string_view message, std::string_view signature) {
  const DigestContext context(EVP_MD_CTX_new());
  return context && !signature.empty() &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), Raw(signature), signature.size(), Raw(message),
                          message.size()) == 1;
}

bool IsHmacOf(std::string_view secret, std::string_view message, std::string_view signature) {
  Sha256Digest expected{};
  unsigned int size = 0;
  const bool made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), Raw(message),
                         message.size(), expected.data(), &size) != nullptr;
  return made &&
         EqualInConstantTime(std::string_view(reinterpret_cast<const char*>(expected.data()), size),
                             signature);
}

}  // namespace

std::string_view ToString(JwtAlgorithm algorithm) {
  switch (algorithm) {
    case JwtAlgorithm::kHs256:
      return "HS256";
    case JwtAlgorithm::kRs256:
      return "RS256";
    case JwtAlgorithm::kEs256:
      return "ES256";
  }
  return "";
}

Result<JwtKey> JwtKey::FromSecret(std::string secret, std::optional<std::string> id) {
  if (secret.size() < kMinSecretBytes) return Invalid("an HS256 secret needs at least 32 bytes");
  JwtKey key(JwtAlgorithm::kHs256, std::move(id));
  key.secret_ = std::move(secret);
  return key;
}

Result<JwtKey> JwtKey::FromPem(std::string_view pem, std::optional<std::string> id) {
  const std::unique_ptr<BIO, Free<BIO, BIO_free_all>> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  EVP_PKEY* key = bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr;
  if (key == nullptr) return Invalid("not a public key in PEM form");
  return FromPublicKey(Own(key), std::move(id));
}

Result<JwtKey> JwtKey::FromPublicKey(std::shared_ptr<evp_pkey_st> key,
                                     std::optional<std::string> id) {
  JwtKey made(JwtAlgorithm::kRs256, std::move(id));
  if (EVP_PKEY_is_a(key.get(), "RSA") == 1) {
    const int bits = EVP_PKEY_get_bits(key.get());
    if (bits < kMinRsaBits || bits > kMaxRsaBits) {
      return Invalid("an RSA key must have 2048 to 8192 bits");
    }
  } else {
    char curve[32] = {};
    std::size_t size = 0;
    if (EVP_PKEY_is_a(key.get(), "EC") != 1 ||
        EVP_PKEY_get_group_name(key.get(), curve, sizeof(curve), &size) != 1 ||
        std::string_view(curve) != "prime256v1") {
      return Invalid("only RSA and P-256 keys are supported");
    }
    made.algorithm_ = JwtAlgorithm::kEs256;
  }
  const PkeyContext context(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
  if (!context || EVP_PKEY_public_check(context.get()) != 1) return Invalid("the key is not valid");
  made.public_ = std::move(key);
  return made;
}

bool JwtKey::Verifies(std::string_view message, std::string_view signature) const {
  switch (algorithm_) {
    case JwtAlgorithm::kHs256:
      return IsHmacOf(secret_, message, signature);
    case JwtAlgorithm::kRs256:
      return VerifiesWith(public_.get(), message, signature);
    case JwtAlgorithm::kEs256:
      return VerifiesWith(public_.get(), message, ToDer(signature));
  }
  return false;
}

// One entry of a key set.
class JwkReader {
 public:
  explicit JwkReader(const Dict& jwk) : jwk_(jwk) {}

  // Returns nullopt if it is not a supported key.
  Result<std::optional<JwtKey>> Read() const {
    const std::string* const kind = Text("kty");
    if (kind == nullptr) return Invalid("kty is missing");
    if (const std::string* use = Text("use"); use != nullptr && *use != "sig") return Nothing();
    if (const Value* operations = jwk_.Find("key_ops")) {
      const List* const list = operations->If<List>();
      if (list == nullptr || std::ranges::find(list->items, Value("verify")) == list->items.end()) {
        return Nothing();
      }
    }
    if (*kind == "oct") return IsFor("HS256") ? Wrap(ReadSecret()) : Nothing();
    const bool is_rsa = *kind == "RSA" && IsFor("RS256");
    const std::string* const curve = Text("crv");
    const bool is_p256 = *kind == "EC" && curve != nullptr && *curve == "P-256" && IsFor("ES256");
    if (!is_rsa && !is_p256) return Nothing();
    if (jwk_.Find("d") != nullptr) {
      return Invalid("it contains a private key; use the public key only");
    }
    return Wrap(is_rsa ? ReadRsa() : ReadP256());
  }

 private:
  static Result<std::optional<JwtKey>> Nothing() { return std::optional<JwtKey>(); }
  static Result<std::optional<JwtKey>> Wrap(Result<JwtKey> key) {
    if (!key) return std::move(key).error();
    return std::optional(*std::move(key));
  }

  const std::string* Text(std::string_view name) const {
    const Value* const value = jwk_.Find(name);
    return value == nullptr ? nullptr : value->If<std::string>();
  }

  bool IsFor(std::string_view algorithm) const {
    return jwk_.Find("alg") == nullptr || (Text("alg") != nullptr && *Text("alg") == algorithm);
  }

  std::optional<std::string> Id() const {
    return Text("kid") == nullptr ? std::nullopt : std::optional(*Text("kid"));
  }

  Result<std::string> Decoded(std::string_view name) const {
    const std::string* const text = Text(name);
    std::optional<std::string> bytes = text == nullptr ? std::nullopt : DecodeBase64Url(*text);
    if (!bytes || bytes->empty() || bytes->size() > kMaxRsaBits / 8) {
      return Invalid(std::string(name) + " is missing or wrong");
    }
    return *std::move(bytes);
  }

  Result<JwtKey> ReadSecret() const {
    TRY_ASSIGN(std::string secret, Decoded("k"));
    return JwtKey::FromSecret(std::move(secret), Id());
  }

  Result<JwtKey> ReadRsa() const {
    TRY_ASSIGN(const std::string modulus, Decoded("n"));
    TRY_ASSIGN(const std::string exponent, Decoded("e"));
    const Number n = ToNumber(modulus);
    const Number e = ToNumber(exponent);
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    if (!n || !e || !builder ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
      return Invalid("the key is not valid");
    }
    return Checked(MakePublicKey("RSA", builder.get()));
  }

  Result<JwtKey> ReadP256() const {
    TRY_ASSIGN(const std::string x, Decoded("x"));
    TRY_ASSIGN(const std::string y, Decoded("y"));
    if (x.size() != kEs256Bytes || y.size() != kEs256Bytes)
      return Invalid("x or y is not 32 bytes");
    const std::string point = "\x04" + x + y;  // The uncompressed form.
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    if (!builder ||
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1",
                                        0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1) {
      return Invalid("the key is not valid");
    }
    return Checked(MakePublicKey("EC", builder.get()));
  }

  Result<JwtKey> Checked(PublicKey key) const {
    if (!key) return Invalid("the key is not valid");
    return JwtKey::FromPublicKey(std::move(key), Id());
  }

  const Dict& jwk_;
};

Result<std::vector<JwtKey>> ParseJwkSet(std::string_view json) {
  TRY_ASSIGN(const Value set, ParseJson(json));
  const Dict* const object = set.If<Dict>();
  const Value* const entries = object == nullptr ? nullptr : object->Find("keys");
  const List* const list = entries == nullptr ? nullptr : entries->If<List>();
  if (list == nullptr) return Invalid("not a JSON Web Key Set: no \"keys\"");
  std::vector<JwtKey> keys;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const std::string place = "key " + std::to_string(i);
    const Dict* const jwk = list->items[i].If<Dict>();
    if (jwk == nullptr) return Invalid(place + " is not an object");
    Result<std::optional<JwtKey>> key = JwkReader(*jwk).Read();
    if (!key) return std::move(key).error().Context(place);
    if (!*key) continue;
    const bool known = std::ranges::any_of(keys, [&](const JwtKey& other) {
      return other.id() == (*key)->id() && other.algorithm() == (*key)->algorithm();
    });
    if (known) return Invalid(place + " has the id of another one");
    keys.push_back(**std::move(key));
  }
  if (keys.empty()) return Invalid("the set has no HS256, RS256 or ES256 key");
  return keys;
}

}  // namespace caisson
