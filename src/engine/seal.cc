#include "engine/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace caisson {
namespace {

// magic and version · build id · base hash · nonce · ciphertext · tag
//
// The build is readable, so that a blob of another one can be told from a forged one without its
// key; all that stands before the nonce is authenticated with the rest.
constexpr std::string_view kMagic = "CAISCEL1";
constexpr std::size_t kBuildBytes = 20;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kHeaderBytes = kMagic.size() + kBuildBytes + kHashBytes;
constexpr std::size_t kOverhead = kHeaderBytes + kNonceBytes + kTagBytes;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* Raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Raw(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

void AppendNumber(std::uint64_t number, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift));
}

std::string Header(const SealBinding& binding) {
  std::string header(kMagic);
  header.append(binding.build_id.begin(), binding.build_id.end());
  header.append(binding.base_hash.begin(), binding.base_hash.end());
  return header;
}

// Every part with its length, so that no two bindings give the same bytes.
std::string AssociatedData(const SealBinding& binding) {
  std::string data = Header(binding);
  AppendNumber(binding.owner.str().size(), data);
  data += binding.owner.str();
  AppendNumber(binding.run.size(), data);
  data += binding.run;
  AppendNumber(binding.call_seq, data);
  return data;
}

Error CryptoFailed() {
  return Error(ErrorCode::kInternal, "the cryptographic library failed");
}

Error NotAccepted() {
  return Error(ErrorCode::kInvalidArgument,
               "the saved cell is damaged, or belongs to another owner, run or call");
}

}  // namespace

SealKey SealKey::Random() {
  std::array<std::uint8_t, kBytes> bytes{};
  // A key that is not random is worse than no program.
  if (RAND_bytes(bytes.data(), kBytes) != 1) std::abort();
  return SealKey(bytes);
}

SealKey::SealKey(std::span<const std::uint8_t, kBytes> bytes) {
  std::ranges::copy(bytes, bytes_.begin());
}

SealKey::~SealKey() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<std::string> Seal(const SealKey& key, const SealBinding& binding, const SavedCell& cell) {
  if (cell.bytes.size() > INT_MAX)
    return Error(ErrorCode::kResourceExhausted, "the cell is too big");
  const std::string associated = AssociatedData(binding);
  std::string out = Header(binding);
  out.resize(kOverhead + cell.bytes.size());
  unsigned char* const nonce = Raw(out) + kHeaderBytes;
  unsigned char* const text = nonce + kNonceBytes;
  // Random nonces of 96 bits are safe for some four billion cells under one key.
  if (RAND_bytes(nonce, kNonceBytes) != 1) return CryptoFailed();

  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int length = 0;
  const bool good =
      context != nullptr &&
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes().data(), nonce) ==
          1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &length, Raw(associated),
                        static_cast<int>(associated.size())) == 1 &&
      EVP_EncryptUpdate(context.get(), text, &length, Raw(std::string_view(cell.bytes)),
                        static_cast<int>(cell.bytes.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), text + length, &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                          text + cell.bytes.size()) == 1;
  if (!good) return CryptoFailed();
  return out;
}

Result<SavedCell> Unseal(const SealKey& key, const SealBinding& binding, std::string_view sealed) {
  if (sealed.size() < kOverhead || sealed.size() > INT_MAX || !sealed.starts_with(kMagic)) {
    return NotAccepted();
  }
  if (sealed.substr(0, kHeaderBytes) != Header(binding)) {
    return Error(ErrorCode::kFailedPrecondition, "the cell was saved by another build");
  }
  const std::string associated = AssociatedData(binding);
  const std::string_view nonce = sealed.substr(kHeaderBytes, kNonceBytes);
  const std::string_view text =
      sealed.substr(kHeaderBytes + kNonceBytes, sealed.size() - kOverhead);
  std::array<unsigned char, kTagBytes> tag{};
  std::memcpy(tag.data(), sealed.data() + sealed.size() - kTagBytes, kTagBytes);

  SavedCell cell;
  cell.bytes.resize(text.size());
  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int length = 0;
  const bool ready =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes().data(),
                         Raw(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &length, Raw(associated),
                        static_cast<int>(associated.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), Raw(cell.bytes), &length, Raw(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1;
  if (!ready) return CryptoFailed();
  if (EVP_DecryptFinal_ex(context.get(), Raw(cell.bytes) + length, &length) != 1) {
    OPENSSL_cleanse(cell.bytes.data(), cell.bytes.size());
    return NotAccepted();
  }
  return cell;
}

}  // namespace caisson
