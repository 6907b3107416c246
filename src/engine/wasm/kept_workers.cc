#include "engine/wasm/kept_workers.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/run_on.h"
#include "engine/wasm/base_check.h"

namespace caisson {
namespace {

namespace fs = std::filesystem;

// The front of a saved cell. The worker owns the format (worker/saved_cell.h) and shares no header
// with the host. A test restores real cells with it.
constexpr std::string_view kSavedMagic = "CAISCEL1";

constexpr std::size_t kMaxNotes = 64u << 10;

Error NotAWorker(const std::string& path) {
  return Error(ErrorCode::kInvalidArgument, path + " is not a worker: it has no build id");
}

template <typename T>
bool ReadAt(std::ifstream& file, std::uint64_t offset, T& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

std::optional<std::array<std::uint8_t, 20>> FindBuildId(std::string_view notes) {
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  Elf64_Nhdr note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const std::uint64_t contents = sizeof note + padded(note.n_namesz);
    if (contents + padded(note.n_descsz) > notes.size()) break;
    std::array<std::uint8_t, 20> id{};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz == id.size()) {
      std::memcpy(id.data(), notes.data() + contents, id.size());
      return id;
    }
    notes.remove_prefix(contents + padded(note.n_descsz));
  }
  return std::nullopt;
}

Result<std::array<std::uint8_t, 20>> ReadBuildId(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head{};
  if (!ReadAt(file, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    return NotAWorker(path);
  }
  for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!ReadAt(file, head.e_phoff + i * sizeof segment, segment)) break;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNotes) continue;
    std::string notes(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) break;
    if (const auto id = FindBuildId(notes)) return *id;
  }
  return NotAWorker(path);
}

}  // namespace

Result<std::vector<KeptBuild>> FindKeptBuilds(const std::string& directory) {
  std::vector<KeptBuild> builds;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed)) {
    if (!entry.is_directory()) continue;
    KeptBuild kept{.worker_path = (entry.path() / "caisson-worker").string(),
                   .base_path = (entry.path() / "caisson.base").string()};
    if (!fs::exists(kept.worker_path) && !fs::exists(kept.base_path)) continue;
    TRY_ASSIGN(kept.build.build_id, ReadBuildId(kept.worker_path));
    TRY_ASSIGN(kept.build.base_hash, ReadBaseHash(kept.base_path));
    builds.push_back(std::move(kept));
  }
  if (failed) return Error::FromErrno(failed.value(), "read " + directory);
  return builds;
}

std::optional<CellBuild> BuildOf(const SavedCell& saved) {
  CellBuild build;
  const std::string_view bytes = saved.bytes;
  const std::size_t end = kSavedMagic.size() + build.build_id.size() + build.base_hash.size();
  if (bytes.size() < end || !bytes.starts_with(kSavedMagic)) return std::nullopt;
  const auto* at = bytes.data() + kSavedMagic.size();
  std::memcpy(build.build_id.data(), at, build.build_id.size());
  std::memcpy(build.base_hash.data(), at + build.build_id.size(), build.base_hash.size());
  return build;
}

KeptWorkers::KeptWorkers(std::unique_ptr<Engine> newest, std::vector<KeptBuild> kept,
                         StartBuild start)
    : newest_(std::move(newest)), kept_(std::move(kept)), start_(std::move(start)) {}

KeptWorkers::~KeptWorkers() {
  starter_.join();
}

asio::awaitable<Result<std::unique_ptr<Cell>>> KeptWorkers::Open(OpenOptions options) {
  return newest_->Open(std::move(options));
}

const KeptBuild* KeptWorkers::FindKept(const SavedCell& saved) const {
  const auto build = BuildOf(saved);
  if (!build || build == newest_->build()) return nullptr;
  const auto found = std::ranges::find(kept_, *build, &KeptBuild::build);
  return found == kept_.end() ? nullptr : &*found;
}

asio::awaitable<Result<std::unique_ptr<Cell>>> KeptWorkers::Restore(OpenOptions options,
                                                                    SavedCell saved,
                                                                    Limits limits) {
  const KeptBuild* kept = FindKept(saved);
  // The newest build refuses cells that it cannot restore, with a message.
  if (kept == nullptr) {
    co_return co_await newest_->Restore(std::move(options), std::move(saved), limits);
  }
  auto engine = co_await CallOn(starter_.get_executor(), [&] { return Start(*kept); });
  if (!engine) {
    co_return Error(ErrorCode::kFailedPrecondition,
                    "start the kept " + kept->worker_path + ": " + engine.error().message());
  }
  co_return co_await (*engine)->Restore(std::move(options), std::move(saved), limits);
}

// Runs on the starter's thread, so there is only one at a time.
Result<Engine*> KeptWorkers::Start(const KeptBuild& kept) {
  if (auto started = started_.Lock(); started->contains(&kept)) return started->at(&kept).get();
  TRY_ASSIGN(std::unique_ptr<Engine> engine, start_(kept));
  if (engine->build() != kept.build) {
    return Error(ErrorCode::kInvalidArgument, "it reports another build than its file");
  }
  return started_.Lock()->emplace(&kept, std::move(engine)).first->second.get();
}

EngineStats KeptWorkers::stats() const {
  EngineStats sum = newest_->stats();
  auto started = started_.Lock();
  for (const auto& [kept, engine] : *started) sum += engine->stats();
  return sum;
}

}  // namespace caisson
