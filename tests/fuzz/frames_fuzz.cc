// A compromised worker sends any frames in any order while the host starts runs, answers, saves,
// cancels and abandons: the host survives, keeps its caps, and every run ends at most once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/wasm/worker_link.h"

namespace {

using namespace caisson;  // NOLINT(google-build-using-namespace): a fuzz target.

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  std::uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::string_view Bytes(std::size_t n) {
    n = std::min(n, size_);
    const std::string_view bytes(reinterpret_cast<const char*>(data_), n);
    data_ += n;
    size_ -= n;
    return bytes;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

const Limits kLimits{.stdout_bytes = 100,
                     .stderr_bytes = 100,
                     .result_bytes = 1000,
                     .file_bytes = 100,
                     .total_file_bytes = 150,
                     .files = 3,
                     .tool_calls = 4,
                     .message_bytes = 500};

struct Front : RunEvents {
  void OnOutput(OutputStream stream, std::string_view bytes) override {
    std::size_t& total = stream == OutputStream::kStdout ? out : err;
    total += bytes.size();
    if (total > 100 || ends > 0) std::abort();
  }
  void OnCall(ToolCall call) override {
    if (call.seq >= 4 || ends > 0) std::abort();
    if (answer_at_once) (void)session->Answer(call.seq, Value(true)).has_value();
  }
  CellProtocol::RunDone Done() {
    out = err = 0;
    ends = 0;
    return [this](Result<Outcome> outcome) {
      if (++ends > 1) std::abort();
      if (outcome && (outcome->stdout_text.size() > 100 || outcome->calls.size() > 4 ||
                      outcome->boundary.engine != "wasm")) {
        std::abort();
      }
    };
  }
  std::shared_ptr<CellProtocol> session =
      std::make_shared<CellProtocol>(OwnerId("o"), Admission::Place(), std::chrono::nanoseconds(0));
  std::size_t out = 0;
  std::size_t err = 0;
  int ends = 0;
  bool answer_at_once = false;
};

void Act(Front& front, WorkerLink& link, std::uint64_t& next_id, Input& input) {
  const std::uint8_t how = input.Byte();
  const AfterRun after = (how & 0x80) != 0 ? AfterRun::kKeep : AfterRun::kDiscard;
  const AfterSave after_save = (how & 0x40) != 0 ? AfterSave::kKeep : AfterSave::kDiscard;
  CellProtocol& session = *front.session;
  switch (how % 8) {
    case 0:
      if (session.run_under_way()) return;
      (void)session
          .Start(link, next_id++, {.code = "x", .limits = kLimits}, front, after, front.Done())
          .has_value();
      return;
    case 1:
      if (session.run_under_way()) return;
      (void)session.Again({.code = "x", .limits = kLimits}, front, after, front.Done()).has_value();
      return;
    case 2:
      (void)session.Restore(link, next_id++, {"blob"}, kLimits, [](Result<void>) {}).has_value();
      return;
    case 3:
      if (session.run_under_way()) return;
      (void)session.Continue(front, after, front.Done()).has_value();
      return;
    case 4:
      (void)session.Answer(input.Byte() % 5, Value(true)).has_value();
      return;
    case 5:
      (void)session.Save(after_save, 300, [](Result<SavedCell>) {}).has_value();
      return;
    case 6:
      session.Cancel();
      return;
    default:
      front.answer_at_once = !front.answer_at_once;
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Channel channel = *Channel::Create();
  new (&channel.layout()) wire::ChannelLayout{};
  wire::RingWriter worker(channel.layout().to_host, channel.to_host());
  wire::RingReader worker_reader(channel.layout().to_worker, channel.to_worker());
  std::vector<std::unique_ptr<Front>> fronts;
  for (int i = 0; i < 2; ++i) {
    fronts.push_back(std::make_unique<Front>());
    fronts.back()->session = std::make_shared<CellProtocol>(OwnerId("o"), Admission::Place(),
                                                            std::chrono::nanoseconds(0));
  }
  {
    WorkerLink link(channel, "none");
    link.request_turn = [] {};
    const wire::ReadyHeader ready{};
    (void)worker.Write(1, 0, 0, {reinterpret_cast<const char*>(&ready), sizeof ready}).has_value();
    Input input(data, size);
    std::uint64_t next_id = 1;
    bool broken = !link.Pump();
    while (!input.empty() && !broken) {
      Front& front = *fronts[input.Byte() % fronts.size()];
      switch (input.Byte() % 4) {
        case 0:
          Act(front, link, next_id, input);
          break;
        case 1: {
          const std::uint8_t kind = input.Byte() % 10;
          const std::uint16_t flags = input.Byte() % 8 == 0 ? wire::kMoreFollows : 0;
          const std::uint64_t id = input.Byte() % 8 == 0 ? input.Byte() : front.session->id();
          std::string payload(input.Bytes(input.Byte()));
          // Most random ends do not even have the right size, so pad them.
          if (kind == 4) payload.insert(0, sizeof(wire::DoneHeader) - 8, '\0');
          (void)worker.Write(kind, flags, id, payload).has_value();
          break;
        }
        case 2:
          while (auto frame = worker_reader.Next()) {
            if (!frame->has_value()) break;
          }
          break;
        default:
          broken = !link.Pump();
          break;
      }
    }
    if (!broken) (void)link.Pump().has_value();
    (void)link.Stuck(std::chrono::steady_clock::now());
    for (auto& front : fronts) {
      if (size % 2 == 0) front->session->Abandon();
    }
  }
  return 0;
}
