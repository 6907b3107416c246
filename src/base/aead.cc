#include "base/aead.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>

namespace caisson {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
static_assert(kNonceBytes + kTagBytes == kAeadOverhead);

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
using Kdf = std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)>;

const unsigned char* Raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Raw(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

Error CryptoFailed() {
  return Error(ErrorCode::kInternal, "the cryptographic library failed");
}

bool TooBig(std::string_view bound_to, std::string_view text) {
  return bound_to.size() > INT_MAX || text.size() > INT_MAX - kAeadOverhead;
}

}  // namespace

AeadKey AeadKey::Random() {
  std::array<std::uint8_t, kBytes> bytes{};
  // It is better to have no program than a key that is not random.
  if (RAND_bytes(bytes.data(), kBytes) != 1) std::abort();
  return AeadKey(bytes);
}

AeadKey::AeadKey(std::span<const std::uint8_t, kBytes> bytes) {
  std::ranges::copy(bytes, bytes_.begin());
}

AeadKey::~AeadKey() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

AeadKey AeadKey::DerivedFor(std::string_view purpose) const {
  const Kdf kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), &EVP_KDF_free);
  const KdfContext context(EVP_KDF_CTX_new(kdf.get()), &EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  // OpenSSL takes its input through pointers to non-const data, but only reads it.
  std::array<std::uint8_t, kBytes> secret = bytes_;
  std::string info(purpose);
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string("digest", digest, 0),
      OSSL_PARAM_construct_octet_string("key", secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string("info", info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  AeadKey derived(bytes_);
  const bool good = context != nullptr &&
                    EVP_KDF_derive(context.get(), derived.bytes_.data(), kBytes, parameters) == 1;
  OPENSSL_cleanse(secret.data(), secret.size());
  if (!good) std::abort();  // Same reason as above.
  return derived;
}

Result<std::string> AeadSeal(const AeadKey& key, std::string_view bound_to, std::string_view text) {
  if (TooBig(bound_to, text)) return Error(ErrorCode::kResourceExhausted, "too large to seal");
  std::string out(text.size() + kAeadOverhead, '\0');
  unsigned char* const nonce = Raw(out);
  unsigned char* const cipher = nonce + kNonceBytes;
  if (RAND_bytes(nonce, kNonceBytes) != 1) return CryptoFailed();

  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int length = 0;
  const bool good = context != nullptr &&
                    EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr,
                                       key.bytes().data(), nonce) == 1 &&
                    EVP_EncryptUpdate(context.get(), nullptr, &length, Raw(bound_to),
                                      static_cast<int>(bound_to.size())) == 1 &&
                    EVP_EncryptUpdate(context.get(), cipher, &length, Raw(text),
                                      static_cast<int>(text.size())) == 1 &&
                    EVP_EncryptFinal_ex(context.get(), cipher + length, &length) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                                        cipher + text.size()) == 1;
  if (!good) return CryptoFailed();
  return out;
}

Result<std::string> AeadOpen(const AeadKey& key, std::string_view bound_to,
                             std::string_view sealed) {
  const Error refused(ErrorCode::kInvalidArgument,
                      "the sealed bytes were changed, or belong to another key or purpose");
  if (sealed.size() < kAeadOverhead || TooBig(bound_to, sealed)) return refused;
  const std::string_view nonce = sealed.substr(0, kNonceBytes);
  const std::string_view cipher = sealed.substr(kNonceBytes, sealed.size() - kAeadOverhead);
  std::array<char, kTagBytes> tag{};
  std::ranges::copy(sealed.substr(sealed.size() - kTagBytes), tag.begin());

  std::string text(cipher.size(), '\0');
  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int length = 0;
  const bool ready =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes().data(),
                         Raw(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &length, Raw(bound_to),
                        static_cast<int>(bound_to.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), Raw(text), &length, Raw(cipher),
                        static_cast<int>(cipher.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1;
  if (!ready) return CryptoFailed();
  if (EVP_DecryptFinal_ex(context.get(), Raw(text) + length, &length) != 1) {
    OPENSSL_cleanse(text.data(), text.size());
    return refused;
  }
  return text;
}

}  // namespace caisson
