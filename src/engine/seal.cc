#include "engine/seal.h"

#include <utility>

namespace caisson {
namespace {

// magic and version · build id · base hash · nonce · ciphertext · tag
//
// The build is readable, so that a cell of another build can be distinguished from a forged one
// without its key. Everything before the nonce is authenticated as well.
constexpr std::string_view kMagic = "CAISCEL1";
constexpr std::size_t kBuildBytes = 20;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kHeaderBytes = kMagic.size() + kBuildBytes + kHashBytes;

void AppendNumber(std::uint64_t number, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift));
}

std::string Header(const SealBinding& binding) {
  std::string header(kMagic);
  header.append(binding.build_id.begin(), binding.build_id.end());
  header.append(binding.base_hash.begin(), binding.base_hash.end());
  return header;
}

// Each part is preceded by its length, so that no two bindings give the same bytes.
std::string AssociatedData(const SealBinding& binding) {
  std::string data = Header(binding);
  AppendNumber(binding.owner.str().size(), data);
  data += binding.owner.str();
  AppendNumber(binding.run.size(), data);
  data += binding.run;
  AppendNumber(binding.call_seq, data);
  return data;
}

Error NotAccepted() {
  return Error(ErrorCode::kInvalidArgument,
               "the saved cell is damaged, or belongs to another owner, run or call");
}

}  // namespace

Result<std::string> Seal(const SealKey& key, const SealBinding& binding, const SavedCell& cell) {
  if (cell.origin) {
    return Error(ErrorCode::kInvalidArgument, "a cell that can only be branched is not stored");
  }
  TRY_ASSIGN(const std::string sealed, AeadSeal(key, AssociatedData(binding), cell.bytes));
  return Header(binding) + sealed;
}

Result<SavedCell> Unseal(const SealKey& key, const SealBinding& binding, std::string_view sealed) {
  if (sealed.size() < kHeaderBytes + kAeadOverhead || !sealed.starts_with(kMagic)) {
    return NotAccepted();
  }
  if (sealed.substr(0, kHeaderBytes) != Header(binding)) {
    return Error(ErrorCode::kFailedPrecondition, "the cell was saved by another build");
  }
  auto opened = AeadOpen(key, AssociatedData(binding), sealed.substr(kHeaderBytes));
  if (opened) return SavedCell{*std::move(opened)};
  if (opened.error().code() == ErrorCode::kInvalidArgument) return NotAccepted();
  return std::move(opened).error();
}

}  // namespace caisson
