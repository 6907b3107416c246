#include "identity/signer_for_test.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <vector>

#include "base/base64.h"

namespace caisson {
namespace {

const unsigned char* Raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Raw(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

std::string Member(EVP_PKEY* key, const char* parameter, int width = 0) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, parameter, &number);
  std::string bytes(static_cast<std::size_t>(width > 0 ? width : BN_num_bytes(number)), '\0');
  BN_bn2binpad(number, Raw(bytes), static_cast<int>(bytes.size()));
  BN_free(number);
  return EncodeBase64Url(bytes);
}

std::string ToRaw(const std::string& der) {
  const unsigned char* in = Raw(std::string_view(der));
  ECDSA_SIG* const parts = d2i_ECDSA_SIG(nullptr, &in, static_cast<long>(der.size()));
  std::string raw(64, '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(parts), Raw(raw), 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(parts), Raw(raw) + 32, 32);
  ECDSA_SIG_free(parts);
  return raw;
}

}  // namespace

TestSigner::TestSigner(evp_pkey_st* key) : key_(key, EVP_PKEY_free) {}

TestSigner TestSigner::Rsa(int bits) {
  return TestSigner(EVP_RSA_gen(static_cast<unsigned>(bits)));
}
TestSigner TestSigner::P256() {
  return TestSigner(EVP_EC_gen("P-256"));
}
TestSigner TestSigner::P384() {
  return TestSigner(EVP_EC_gen("P-384"));
}

std::string TestSigner::Sign(std::string_view message) const {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  std::size_t size = 0;
  EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get());
  EVP_DigestSign(context, nullptr, &size, Raw(message), message.size());
  std::string signature(size, '\0');
  EVP_DigestSign(context, Raw(signature), &size, Raw(message), message.size());
  EVP_MD_CTX_free(context);
  signature.resize(size);
  return EVP_PKEY_is_a(key_.get(), "EC") == 1 ? ToRaw(signature) : signature;
}

std::string TestSigner::PublicPem() const {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key_.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  BIO_free(bio);
  return pem;
}

std::string TestSigner::JwkMembers() const {
  if (EVP_PKEY_is_a(key_.get(), "RSA") == 1) {
    return R"("kty":"RSA","n":")" + Member(key_.get(), OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
           Member(key_.get(), OSSL_PKEY_PARAM_RSA_E) + "\"";
  }
  return R"("kty":"EC","crv":"P-256","x":")" + Member(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32) +
         R"(","y":")" + Member(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32) + "\"";
}

std::string HmacSha256(std::string_view secret, std::string_view message) {
  std::string digest(32, '\0');
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), Raw(message), message.size(),
       Raw(digest), nullptr);
  return digest;
}

}  // namespace caisson
