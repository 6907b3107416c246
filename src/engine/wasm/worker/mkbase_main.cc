// caisson-mkbase LIBRARY OUT [PROGRAM.py...]: makes caisson.base. A build-time tool, never
// installed.
//
// It starts the interpreter once, with a fixed clock and fixed randomness, writes its memory, and
// runs the given programs in cells made from that to find the pages that nearly every run writes.
// The same guest and library always give the same file.
#include <fcntl.h>
#include <immintrin.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/wasm/worker/worker_cell.h"
#include "wire/value.h"

namespace caisson::worker {
namespace {

constexpr std::uint64_t kBootTimeNs = 1'700'000'000'000'000'000;

wasm_rt_memory_t& Memory() {
  return GuestInstance().w2c_memory;
}

// Implements the imports while caisson_boot runs.
class BootHost final : public GuestHost {
 public:
  explicit BootHost(const LibraryImage& library) : files_(*this) {
    if (auto started = files_.Start(library, {}, FileLimits()); !started) {
      std::fprintf(stderr, "%s\n", started.error().message().c_str());
      std::exit(EXIT_FAILURE);
    }
    chance_.seed[0] = 42;
  }

  GuestMemory guest_memory() override { return {Memory().data, Memory().size}; }
  CellFiles& files() override { return files_; }
  std::optional<std::int32_t> Post(std::uint32_t, std::uint32_t, Progress&) override { return -1; }
  std::optional<std::uint32_t> Take(std::uint32_t, std::uint32_t, Progress&) override { return 0; }
  bool Report(std::uint32_t, std::uint32_t, Progress&) override { return true; }
  void AskHost() override { std::abort(); }  // There are no mounts.
  std::uint32_t Grow(std::uint32_t delta) override {
    wasm_rt_memory_t& memory = Memory();
    const std::uint32_t before = memory.pages;
    if (delta > memory.max_pages - before) return UINT32_MAX;
    if (::mprotect(memory.data + memory.size, delta * kWasmPageBytes, PROT_READ | PROT_WRITE) !=
        0) {
      return UINT32_MAX;
    }
    memory.pages += delta;
    memory.size = memory.pages * kWasmPageBytes;
    return before;
  }
  void Write(Stream, std::span<const std::uint8_t> bytes) override {
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
  }
  std::uint64_t Clock(ClockId) override { return kBootTimeNs; }
  void Random(std::span<std::uint8_t> out) override { chance_.Fill(out); }

 private:
  CellFiles files_;
  ChanceStream chance_;
};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error::FromErrno(errno, "read " + path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<void> WriteBase(const std::string& path, const std::string& library,
                       std::span<const std::uint8_t> memory, std::uint32_t stack_global,
                       const std::vector<PageRange>& hot) {
  BaseHeader header{};
  std::memcpy(header.magic, kBaseMagic, sizeof kBaseMagic);
  header.wasm_pages = static_cast<std::uint32_t>(memory.size() / kWasmPageBytes);
  header.stack_global = stack_global;
  header.hot_ranges = static_cast<std::uint32_t>(hot.size());
  header.memory_offset =
      (sizeof header + hot.size() * sizeof(PageRange) + kPageBytes - 1) / kPageBytes * kPageBytes;
  header.library_offset = header.memory_offset + memory.size();
  header.library_bytes = library.size();

  std::string body(reinterpret_cast<const char*>(hot.data()), hot.size() * sizeof(PageRange));
  body.resize(header.memory_offset - sizeof header);
  body.append(reinterpret_cast<const char*>(memory.data()), memory.size());
  body.append(library);
  ::SHA256(reinterpret_cast<const unsigned char*>(body.data()), body.size(), header.hash);

  // Workers of a running host may have the old file mapped, so the new one is renamed only when it
  // is complete.
  const std::string temporary = path + ".new";
  std::ofstream out(temporary, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.write(body.data(), static_cast<std::streamsize>(body.size()));
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    return Error::FromErrno(errno, "write " + path);
  }
  return {};
}

// Starts the interpreter; the result is its memory, inside the instance.
Result<void> Boot(const LibraryImage& library) {
  BootHost host(library);
  GuestHost::current = &host;
  Z_python_instance_t& guest = GuestInstance();
  Z_python_init_module();
  Z_python_instantiate(&guest, nullptr, nullptr);
  _writegsbase_u64(reinterpret_cast<std::uint64_t>(Memory().data));
  Z_pythonZ__initialize(&guest);
  const std::uint32_t status = Z_pythonZ_caisson_boot(&guest);
  GuestHost::current = nullptr;
  caisson_in_guest = 0;
  if (status != 0) return Error(ErrorCode::kInternal, "caisson_boot failed");
  return {};
}

bool NeverPreempt() {
  return false;
}

// A cell with the channel it needs; its messages are discarded.
class Trainer {
 public:
  static Result<Trainer> Make() {
    UniqueFd memory(::memfd_create("channel", MFD_CLOEXEC));
    if (::ftruncate(memory.get(), wire::kChannelBytes) != 0)
      return Error::FromErrno(errno, "ftruncate");
    void* map =
        ::mmap(nullptr, wire::kChannelBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    if (map == MAP_FAILED) return Error::FromErrno(errno, "mmap");
    UniqueFd notify(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    TRY_ASSIGN(HostChannel channel, HostChannel::Open(std::move(memory), std::move(notify)));
    return Trainer(std::move(channel), static_cast<std::uint8_t*>(map));
  }

  // Runs `code` to its end and leaves the cell dirty. Prints the report of a failing program on
  // stderr.
  Result<void> RunOnce(WorkerCell& cell, const std::string& name, const std::string& code) {
    std::string request;
    Dict dict;
    dict.items.emplace_back(Value(std::string("code")), Value(Bytes{code}));
    dict.items.emplace_back(Value(std::string("result_bytes")), Value(std::int64_t{1 << 20}));
    List tools;
    tools.items.emplace_back(std::string("echo"));
    dict.items.emplace_back(Value(std::string("tools")), Value(std::move(tools)));
    TRY(EncodeValue(Value(std::move(dict)), request));
    wire::StartHeader start{};
    start.wall_ns = start.cpu_ns = 600'000'000'000;
    start.memory_bytes = 512 << 20;
    start.stdout_bytes = start.stderr_bytes = start.result_bytes = 1 << 20;
    start.file_bytes = start.total_file_bytes = 1 << 20;
    start.files = start.open_files = 64;
    start.tool_calls = 1000;
    start.message_bytes = 1 << 20;
    TRY(cell.Start(1, start, request, {}, {}, {}));
    while (true) {
      const Left left = cell.Go();
      Drain(cell);
      if (left == Left::kFinished) {
        cell.BeginFinish(wire::Ending::kReported, 0);
        while (!cell.FinishSlice()) Drain(cell);
        return Drain(cell, name);
      }
      if (left == Left::kParked && cell.state() == CellState::kParked && cell.wake_ns() != 0)
        cell.Wake();
      if (cell.state() == CellState::kReady) continue;
      return Error(ErrorCode::kInternal, name + " did not finish: left " +
                                             std::to_string(static_cast<int>(left)) + " detail " +
                                             std::to_string(caisson_switch.detail));
    }
  }

 private:
  Trainer(HostChannel channel, std::uint8_t* map)
      : channel_(std::move(channel)),
        reader_(reinterpret_cast<wire::ChannelLayout*>(map)->to_host,
                {map + wire::kChannelHeaderBytes + wire::kRingBytes, wire::kRingBytes}) {}

  // Reads the cell's messages, and answers each call with its own first argument.
  void Drain(WorkerCell& cell) {
    while (auto frame = reader_.Next()) {
      if (!frame->has_value()) return;
      if (static_cast<wire::ToHost>((*frame)->kind) != wire::ToHost::kCall) continue;
      wire::CallHeader call{};
      std::memcpy(&call, (*frame)->payload.data(), sizeof call);
      Tuple answer;
      answer.items.emplace_back(std::int64_t{call.seq});
      answer.items.emplace_back(std::int64_t{0});
      answer.items.emplace_back(std::int64_t{1});
      std::string bytes;
      if (EncodeValue(Value(std::move(answer)), bytes)) cell.Answer({call.seq, 0, 0}, bytes);
    }
  }

  Result<void> Drain(WorkerCell&, const std::string& name) {
    Result<void> result;
    while (auto frame = reader_.Next()) {
      if (!frame->has_value()) break;
      if (static_cast<wire::ToHost>((*frame)->kind) != wire::ToHost::kDone) continue;
      auto report = DecodeValue((*frame)->payload.substr(sizeof(wire::DoneHeader)));
      if (!report) return Error(ErrorCode::kInternal, name + ": no report");
      auto text = ToJson(*report);
      const auto* dict = report->If<Dict>();
      const Value* end = dict == nullptr ? nullptr : dict->Find("end");
      if (end == nullptr || end->If<std::string>() == nullptr ||
          *end->If<std::string>() != "returned") {
        result = Error(ErrorCode::kInternal, name + " did not return: " + (text ? *text : "?"));
      }
    }
    return result;
  }

 public:
  HostChannel channel_;

 private:
  wire::RingReader reader_;
};

// Finds the hot pages: those that every program writes. A page too many makes every reset longer. A
// missing page makes a cell fault once, and the cell then remembers it (LinearMemory).
Result<std::vector<PageRange>> Train(const BaseFile& base, const LibraryImage& library,
                                     const std::vector<std::string>& programs) {
  TRY_ASSIGN(DirtyPages dirty, DirtyPages::Open());
  TRY_ASSIGN(Trainer trainer, Trainer::Make());
  TRY_ASSIGN(LinearMemory memory, LinearMemory::Map(base, dirty));
  WorkerCell cell(std::move(memory), library, trainer.channel_);
  std::vector<std::uint32_t> writers(base.memory_bytes() / kPageBytes);
  for (const std::string& program : programs) {
    TRY_ASSIGN(const std::string code, ReadFile(program));
    TRY(trainer.RunOnce(cell, program, code));
    for (const PageRange& range : cell.memory().FindDirty()) {
      for (std::uint32_t i = 0; i < range.count; ++i) {
        if (range.first + i < writers.size()) ++writers[range.first + i];
      }
    }
    cell.Reset();
  }
  std::vector<PageRange> hot;
  for (std::uint32_t page = 0; page < writers.size(); ++page) {
    if (writers[page] < programs.size()) continue;
    if (!hot.empty() && hot.back().first + hot.back().count == page) {
      ++hot.back().count;
    } else {
      hot.push_back({page, 1});
    }
  }
  return hot;
}

Result<void> Main(int argc, char** argv) {
  if (argc < 3)
    return Error(ErrorCode::kInvalidArgument, "usage: caisson-mkbase LIBRARY OUT [PROGRAM.py...]");
  const std::string out = argv[2];
  std::vector<std::string> programs(argv + 3, argv + argc);
  TRY_ASSIGN(const std::string image, ReadFile(argv[1]));
  TRY_ASSIGN(
      const LibraryImage library,
      LibraryImage::Parse({reinterpret_cast<const std::uint8_t*>(image.data()), image.size()}));
  TRY(SetUpWindow(&NeverPreempt));
  TRY(Boot(library));
  const wasm_rt_memory_t& memory = Memory();
  const std::vector<std::uint8_t> snapshot(memory.data, memory.data + memory.size);
  const std::uint32_t stack_global = GuestInstance().w2c___stack_pointer;
  TRY(WriteBase(out, image, snapshot, stack_global, {}));

  TRY_ASSIGN(const BaseFile base,
             BaseFile::Open(UniqueFd(::open(out.c_str(), O_RDONLY | O_CLOEXEC))));
  TRY_ASSIGN(const std::vector<PageRange> hot, Train(base, library, programs));
  TRY(WriteBase(out, image, snapshot, stack_global, hot));
  std::size_t pages = 0;
  for (const PageRange& range : hot) pages += range.count;
  std::printf("%s: %zu MiB of memory, %zu hot pages, %zu MiB of library\n", out.c_str(),
              snapshot.size() >> 20, pages, image.size() >> 20);
  return {};
}

}  // namespace
}  // namespace caisson::worker

// Only here: a worker maps its memories from the base and never instantiates the module.
extern "C" void caisson_allocate_memory(wasm_rt_memory_t* memory, uint32_t pages,
                                        uint32_t max_pages) {
  void* data = ::mmap(nullptr, CAISSON_WASM_RESERVATION_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  memory->size = std::uint64_t{pages} * CAISSON_WASM_PAGE_BYTES;
  if (data == MAP_FAILED || ::mprotect(data, memory->size, PROT_READ | PROT_WRITE) != 0)
    std::abort();
  memory->data = static_cast<std::uint8_t*>(data);
  memory->pages = pages;
  memory->max_pages = max_pages;
}

int main(int argc, char** argv) {
  if (auto result = caisson::worker::Main(argc, argv); !result) {
    std::fprintf(stderr, "caisson-mkbase: %s\n", result.error().message().c_str());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
