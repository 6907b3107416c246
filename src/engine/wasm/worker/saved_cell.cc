#include "engine/wasm/worker/saved_cell.h"

#include <cstring>

#include "engine/wasm/worker/files/save_format.h"

namespace caisson::worker {
namespace {

constexpr std::string_view kMagic = "CAISCEL1";
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kBlockBytes = 64;
constexpr std::uint64_t kWasmPageBytes = 65536;

Error Damaged(const char* what) {
  return Error(ErrorCode::kInvalidArgument, std::string("the saved cell is damaged: ") + what);
}

void AppendRaw(std::string& out, const void* data, std::size_t size) {
  out.append(static_cast<const char*>(data), size);
}

void EncodeCalls(const SavedFields& fields, ByteWriter& out) {
  out.Put(fields.calls);
  out.Put(fields.wait_seq);
  out.Put<std::uint8_t>(fields.wait_varies ? 1 : 0);
  out.Put(fields.wake_ns);
  out.Put(static_cast<std::uint32_t>(fields.open_calls.size()));
  for (std::uint32_t seq : fields.open_calls) out.Put(seq);
  out.Put(static_cast<std::uint32_t>(fields.answers.size()));
  for (const auto& [seq, answer] : fields.answers) {
    out.Put(seq);
    out.PutText(answer);
  }
  out.Put(static_cast<std::uint32_t>(fields.messages.size()));
  for (std::string_view message : fields.messages) out.PutText(message);
}

// Counts are not trusted: each loop ends with the bytes.
Result<void> DecodeCalls(ByteReader& in, SavedFields& fields) {
  fields.calls = in.Get<std::uint32_t>();
  fields.wait_seq = in.Get<std::int32_t>();
  fields.wait_varies = in.Get<std::uint8_t>() != 0;
  fields.wake_ns = in.Get<std::uint64_t>();
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    fields.open_calls.push_back(in.Get<std::uint32_t>());
    if (fields.open_calls.back() >= fields.calls) return Damaged("a call that was never made");
  }
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    const auto seq = in.Get<std::uint32_t>();
    fields.answers.emplace_back(seq, in.GetText());
  }
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    fields.messages.push_back(in.GetText());
  }
  return {};
}

}  // namespace

void EncodeSaved(const SavedIdentity& identity, const SavedFields& fields, std::string& out) {
  out.append(kMagic);
  AppendRaw(out, identity.build_id.data(), identity.build_id.size());
  AppendRaw(out, identity.base_hash.data(), identity.base_hash.size());
  ByteWriter writer(out);
  writer.Put<std::uint8_t>(fields.parked ? 1 : 0);
  writer.Put<std::uint8_t>(fields.recorded ? 1 : 0);
  writer.Put(fields.wall_ns);
  writer.Put(fields.cpu_ns);
  writer.Put(fields.monotonic_ns);
  writer.Put(fields.real_ns);
  writer.PutText(fields.trace_part);
  writer.Put(fields.trace_bytes);
  writer.Put(fields.chance.position);
  writer.PutBytes(fields.chance.seed);
  writer.Put(fields.flags);
  writer.Put(fields.written_bytes[0]);
  writer.Put(fields.written_bytes[1]);
  EncodeCalls(fields, writer);
  writer.Put(static_cast<std::uint32_t>(fields.inputs.size()));
  for (const auto& [path, contents] : fields.inputs) {
    writer.PutText(path);
    writer.PutText(contents);
  }
  writer.PutBytes(fields.files);
  writer.Put(fields.wasm_pages);
  writer.Put(fields.stack_global);
  writer.Put(fields.stack_pointer);
  writer.PutBytes(fields.stack);
}

Result<SavedFields> DecodeSaved(const SavedIdentity& identity, std::span<const std::uint8_t> blob) {
  const std::size_t id_bytes = identity.build_id.size();
  const std::size_t hash_bytes = identity.base_hash.size();
  const std::size_t head = kMagic.size() + id_bytes + hash_bytes;
  if (blob.size() < head || std::memcmp(blob.data(), kMagic.data(), kMagic.size()) != 0) {
    return Damaged("it does not begin like one");
  }
  const std::uint8_t* bound = blob.data() + kMagic.size();
  if (std::memcmp(bound, identity.build_id.data(), id_bytes) != 0 ||
      std::memcmp(bound + id_bytes, identity.base_hash.data(), hash_bytes) != 0) {
    return Error(ErrorCode::kFailedPrecondition, "the cell was saved by another build of caisson");
  }

  SavedFields fields;
  ByteReader in(blob.subspan(head));
  fields.parked = in.Get<std::uint8_t>() == 1;
  fields.recorded = in.Get<std::uint8_t>() == 1;
  fields.wall_ns = in.Get<std::uint64_t>();
  fields.cpu_ns = in.Get<std::uint64_t>();
  fields.monotonic_ns = in.Get<std::uint64_t>();
  fields.real_ns = in.Get<std::uint64_t>();
  fields.trace_part = in.GetText();
  fields.trace_bytes = in.Get<std::uint64_t>();
  fields.chance.position = in.Get<std::uint64_t>();
  const auto seed = in.GetBytes();
  if (seed.size() != sizeof fields.chance.seed) return Damaged("its seed");
  std::memcpy(fields.chance.seed, seed.data(), seed.size());
  fields.flags = in.Get<std::uint32_t>();
  fields.written_bytes[0] = in.Get<std::uint64_t>();
  fields.written_bytes[1] = in.Get<std::uint64_t>();
  TRY(DecodeCalls(in, fields));
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    const std::string_view path = in.GetText();
    fields.inputs.emplace_back(path, in.GetText());
  }
  fields.files = in.GetBytes();
  fields.wasm_pages = in.Get<std::uint32_t>();
  fields.stack_global = in.Get<std::uint32_t>();
  fields.stack_pointer = in.Get<std::uint64_t>();
  fields.stack = in.GetBytes();
  fields.pages = in.Rest();
  if (!in.ok()) return Damaged("it is cut off");
  if (fields.stack_global > fields.wasm_pages * kWasmPageBytes) return Damaged("its C stack");
  return fields;
}

void AppendChangedPage(std::uint32_t page, const std::uint8_t* now, const std::uint8_t* before,
                       std::string& out) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kPageBytes / kBlockBytes; ++i) {
    if (std::memcmp(now + i * kBlockBytes, before + i * kBlockBytes, kBlockBytes) != 0) {
      mask |= std::uint64_t{1} << i;
    }
  }
  if (mask == 0) return;
  AppendRaw(out, &page, sizeof page);
  AppendRaw(out, &mask, sizeof mask);
  for (; mask != 0; mask &= mask - 1) {
    const auto block = static_cast<std::size_t>(__builtin_ctzll(mask));
    AppendRaw(out, now + block * kBlockBytes, kBlockBytes);
  }
}

Result<void> ApplyChangedPages(std::span<const std::uint8_t> pages,
                               std::span<std::uint8_t> memory) {
  std::uint64_t next = 0;
  while (!pages.empty()) {
    std::uint32_t page = 0;
    std::uint64_t mask = 0;
    if (pages.size() < sizeof page + sizeof mask) return Damaged("a page is cut off");
    std::memcpy(&page, pages.data(), sizeof page);
    std::memcpy(&mask, pages.data() + sizeof page, sizeof mask);
    pages = pages.subspan(sizeof page + sizeof mask);
    const auto blocks = static_cast<std::size_t>(__builtin_popcountll(mask));
    if (page < next || page >= memory.size() / kPageBytes || pages.size() < blocks * kBlockBytes) {
      return Damaged("a page does not fit");
    }
    next = std::uint64_t{page} + 1;
    for (; mask != 0; mask &= mask - 1) {
      const auto block = static_cast<std::size_t>(__builtin_ctzll(mask));
      std::memcpy(memory.data() + page * kPageBytes + block * kBlockBytes, pages.data(),
                  kBlockBytes);
      pages = pages.subspan(kBlockBytes);
    }
  }
  return {};
}

}  // namespace caisson::worker
