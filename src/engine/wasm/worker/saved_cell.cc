// A cell as bytes, and back (Cell::Save, Cell::Restore).
//
//   magic, build id, hash of the base · state, budgets used, clocks · calls and answers · files · stack
//   then for each page that differs from the base: u32 page, u64 mask of its 64-byte blocks that
//   differ, those blocks
//
// The stack holds return addresses into this program: only this build can take it back, and whoever
// could forge it would own the worker. The host seals blobs and verifies them before a worker sees
// them; the checks here are the second line, against mistakes and damage.
#include <cstring>

#include "engine/wasm/worker/cell.h"
#include "engine/wasm/worker/files/save_format.h"

namespace caisson::worker {
namespace {

constexpr std::string_view kMagic = "CAISCEL1";
constexpr std::size_t kBlockBytes = 64;
alignas(64) constexpr std::uint8_t kZeroPage[kPageBytes] = {};

Error Damaged(const char* what) {
  return Error(ErrorCode::kInvalidArgument, std::string("the saved cell is damaged: ") + what);
}

void AppendRaw(std::string& out, const void* data, std::size_t size) {
  out.append(static_cast<const char*>(data), size);
}

// What the page was before the run: the base's, or zero beyond it.
const std::uint8_t* Original(const LinearMemory& memory, std::uint64_t page) {
  const auto base = memory.base().memory();
  return page * kPageBytes < base.size() ? base.data() + page * kPageBytes : kZeroPage;
}

void SavePage(const LinearMemory& memory, std::uint32_t page, std::string& out) {
  const std::uint8_t* now = memory.data() + page * kPageBytes;
  const std::uint8_t* before = Original(memory, page);
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

Result<void> RestorePages(LinearMemory& memory, std::span<const std::uint8_t> in) {
  const std::uint64_t pages = memory.bytes() / kPageBytes;
  std::uint64_t next = 0;
  while (!in.empty()) {
    std::uint32_t page = 0;
    std::uint64_t mask = 0;
    if (in.size() < sizeof page + sizeof mask) return Damaged("a page is cut off");
    std::memcpy(&page, in.data(), sizeof page);
    std::memcpy(&mask, in.data() + sizeof page, sizeof mask);
    in = in.subspan(sizeof page + sizeof mask);
    const auto blocks = static_cast<std::size_t>(__builtin_popcountll(mask));
    if (page < next || page >= pages || in.size() < blocks * kBlockBytes) {
      return Damaged("a page does not fit");
    }
    next = std::uint64_t{page} + 1;
    for (; mask != 0; mask &= mask - 1) {
      const auto block = static_cast<std::size_t>(__builtin_ctzll(mask));
      std::memcpy(memory.data() + page * kPageBytes + block * kBlockBytes, in.data(), kBlockBytes);
      in = in.subspan(kBlockBytes);
    }
  }
  return {};
}

}  // namespace

std::string Cell::Save(std::span<const std::uint8_t> build_id) {
  std::string blob(kMagic);
  blob.reserve(64 << 10);
  AppendRaw(blob, build_id.data(), build_id.size());
  AppendRaw(blob, memory_.base().header().hash, sizeof(BaseHeader::hash));

  ByteWriter out(blob);
  const std::uint64_t now = MonotonicNow();
  out.Put<std::uint8_t>(state_ == CellState::kParked ? 1 : 0);
  out.Put<std::uint64_t>(now - arrived_ns_);
  out.Put<std::uint64_t>(cpu_ns_);
  out.Put<std::uint64_t>(now + static_cast<std::uint64_t>(clock_offset_ns_));
  out.Put<std::uint64_t>(virtual_ns_);
  out.Put<std::uint64_t>(chance_.position);
  out.PutBytes(chance_.seed);
  out.Put<std::uint32_t>(flags_);
  out.Put<std::uint64_t>(written_bytes_[0]);
  out.Put<std::uint64_t>(written_bytes_[1]);

  out.Put<std::uint32_t>(calls_);
  out.Put<std::int32_t>(wait_seq_);
  out.Put<std::uint8_t>(wake_ns_ != 0 ? 1 : 0);
  // What is left of a sleep; virtual sleeps keep their time of waking.
  out.Put<std::uint64_t>(virtual_time() ? wake_ns_ : wake_ns_ - std::min(wake_ns_, now));
  out.Put(static_cast<std::uint32_t>(open_calls_.size()));
  for (std::uint32_t seq : open_calls_) out.Put(seq);
  out.Put(static_cast<std::uint32_t>(answers_.size()));
  for (const ReceivedAnswer& answer : answers_) {
    out.Put(answer.seq);
    out.PutText(answer.bytes);
  }
  out.Put(static_cast<std::uint32_t>(messages_.size()));
  for (const std::string& message : messages_) out.PutText(message);

  out.Put(static_cast<std::uint32_t>(inputs_.size()));
  for (const InputFile& input : inputs_) {
    out.PutText(input.path);
    out.PutText(*input.contents);
  }
  std::string files;
  files_.Save(files);
  out.PutText(files);

  out.Put<std::uint32_t>(memory_.wasm_pages());
  out.Put<std::uint32_t>(context_.stack_global());
  out.Put<std::uint64_t>(context_.stack_pointer());
  out.PutBytes(state_ == CellState::kParked ? context_.ParkedStack() : std::span<const std::uint8_t>());

  for (const PageRange& range : memory_.FindDirty()) {
    for (std::uint32_t i = 0; i < range.count; ++i) SavePage(memory_, range.first + i, blob);
  }
  return blob;
}

Result<void> Cell::Restore(std::uint64_t id, const wire::StartHeader& start,
                           std::span<const std::uint8_t> blob,
                           std::span<const std::uint8_t> build_id) {
  const std::size_t head = kMagic.size() + build_id.size() + sizeof(BaseHeader::hash);
  if (blob.size() < head || std::memcmp(blob.data(), kMagic.data(), kMagic.size()) != 0) {
    return Damaged("it does not begin like one");
  }
  if (std::memcmp(blob.data() + kMagic.size(), build_id.data(), build_id.size()) != 0 ||
      std::memcmp(blob.data() + kMagic.size() + build_id.size(), memory_.base().header().hash,
                  sizeof(BaseHeader::hash)) != 0) {
    return Error(ErrorCode::kFailedPrecondition, "the cell was saved by another build of caisson");
  }

  id_ = id;
  start_ = start;
  ByteReader in(blob.subspan(head));
  const std::uint64_t now = MonotonicNow();
  const bool parked = in.Get<std::uint8_t>() == 1;
  const std::uint64_t used_wall = in.Get<std::uint64_t>();
  cpu_ns_ = in.Get<std::uint64_t>();
  clock_offset_ns_ = static_cast<std::int64_t>(in.Get<std::uint64_t>() - now);
  virtual_ns_ = in.Get<std::uint64_t>();
  chance_.position = in.Get<std::uint64_t>();
  const auto seed = in.GetBytes();
  if (seed.size() != sizeof chance_.seed) return Damaged("no seed");
  std::memcpy(chance_.seed, seed.data(), seed.size());
  flags_ = in.Get<std::uint32_t>();
  written_bytes_[0] = std::min(in.Get<std::uint64_t>(), start.stdout_bytes);
  written_bytes_[1] = std::min(in.Get<std::uint64_t>(), start.stderr_bytes);
  if (used_wall > now) return Damaged("its time");
  arrived_ns_ = now - used_wall;
  began_ns_ = arrived_ns_;
  deadline_ns_ = arrived_ns_ + start.wall_ns;

  calls_ = in.Get<std::uint32_t>();
  wait_seq_ = in.Get<std::int32_t>();
  const bool sleeps = in.Get<std::uint8_t>() != 0;
  wake_ns_ = in.Get<std::uint64_t>();
  if (!sleeps) {
    wake_ns_ = 0;
  } else if (!virtual_time()) {
    wake_ns_ = now + std::min<std::uint64_t>(wake_ns_, start.wall_ns);
  }
  open_calls_.clear();
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    open_calls_.push_back(in.Get<std::uint32_t>());
    if (open_calls_.back() >= calls_) return Damaged("a call that was never made");
  }
  answers_.clear();
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    const std::uint32_t seq = in.Get<std::uint32_t>();
    answers_.push_back({seq, std::string(in.GetText())});
  }
  messages_.clear();
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    messages_.emplace_back(in.GetText());
  }
  inputs_.clear();
  for (std::uint32_t n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
    std::string path(in.GetText());
    inputs_.push_back({std::move(path), std::make_shared<const std::string>(in.GetText())});
  }
  const auto files = in.GetBytes();
  if (!in.ok()) return Damaged("it is cut off");
  TRY(files_.Start(library_, inputs_, FileLimitsOf(start)));
  TRY(files_.Restore(files));

  const std::uint32_t wasm_pages = in.Get<std::uint32_t>();
  const std::uint32_t stack_global = in.Get<std::uint32_t>();
  const std::uint64_t stack_pointer = in.Get<std::uint64_t>();
  const auto stack = in.GetBytes();
  if (!in.ok()) return Damaged("it is cut off");
  if (stack_global > wasm_pages * kWasmPageBytes) return Damaged("its C stack");
  if (wasm_pages * kWasmPageBytes > start.memory_bytes) {
    return Error(ErrorCode::kResourceExhausted, "the saved cell uses more memory than is allowed");
  }
  if (wasm_pages < memory_.wasm_pages() || !memory_.GrowTo(wasm_pages)) return Damaged("its memory");
  TRY(RestorePages(memory_, in.Rest()));
  if (parked) {
    if (!context_.RestoreParked(stack_pointer, stack, stack_global)) return Damaged("its stack");
    state_ = CellState::kParked;
    DeliverAwaited();
  } else {
    context_.RestoreGlobals(stack_global);
    state_ = CellState::kIdle;
  }
  return {};
}

}  // namespace caisson::worker
