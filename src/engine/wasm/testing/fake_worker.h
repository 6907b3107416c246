// A worker that is a thread: speaks wire/frames.h over a real channel as the test's script tells
// it.
//
// Trust     Plays the hostile side.
// Threads   One thread per started worker runs the script; everything else runs on the lane.
// Lifetime  Killing a worker stops its thread the next time it waits or sends.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "engine/wasm/channel.h"
#include "engine/wasm/launcher.h"
#include "wire/frames.h"
#include "wire/value.h"

namespace caisson::testing {

template <typename T>
std::string AsBytes(const T& pod) {
  return {reinterpret_cast<const char*>(&pod), sizeof pod};
}

inline std::string Encoded(const Value& value) {
  std::string out;
  (void)EncodeValue(value, out).has_value();
  return out;
}

struct Received {
  wire::ToWorker kind{};
  std::uint64_t cell = 0;
  std::string payload;

  template <typename T>
  T Header() const {
    T header{};
    std::memcpy(&header, payload.data(), sizeof header);
    return header;
  }
  // Returns the code of a kStart or kAgain.
  std::string Code() const {
    const auto start = Header<wire::StartHeader>();
    auto request =
        DecodeValue(std::string_view(payload).substr(sizeof start, start.request_length));
    return request->If<Dict>()->Find("code")->If<Bytes>()->data;
  }
};

// The worker's end of the channel, as a script sees it.
class WorkerEnd {
 public:
  WorkerEnd(const UniqueFd& memory, const UniqueFd& notify)
      : channel_(*Channel::Map(memory)),
        notify_(::dup(notify.get())),
        reader_(channel_.layout().to_worker, channel_.to_worker()),
        writer_(channel_.layout().to_host, channel_.to_host()) {}

  wire::RingHeader& to_host() { return channel_.layout().to_host; }
  wire::RingHeader& to_worker() { return channel_.layout().to_worker; }
  bool killed() const { return killed_.load(); }
  void Kill() {
    killed_.store(true);
    wire::FutexWake(reader_.header().tail);
    wire::FutexWake(writer_.header().head);
  }
  void Notify() {
    const std::uint64_t one = 1;
    (void)!::write(notify_.get(), &one, sizeof one);
  }

  void SendFrame(std::uint16_t kind, std::uint16_t flags, std::uint64_t cell,
                 std::string_view payload) {
    while (!killed()) {
      if (writer_.Write(kind, flags, cell, payload)) break;
      wire::FutexWait(writer_.header().head, writer_.header().head.load(), 1'000'000);
    }
    Notify();
  }
  void Send(wire::ToHost kind, std::uint64_t cell, std::string_view message) {
    do {
      const std::string_view part = message.substr(0, wire::kMaxFramePayload);
      message.remove_prefix(part.size());
      SendFrame(std::to_underlying(kind), message.empty() ? 0 : wire::kMoreFollows, cell, part);
    } while (!message.empty());
  }
  void Ready(std::string_view missing = {}, std::uint8_t build = 1) {
    wire::ReadyHeader header{};
    header.build_id[0] = build;
    header.missing_length = static_cast<std::uint32_t>(missing.size());
    Send(wire::ToHost::kReady, 0, AsBytes(header) + std::string(missing));
  }
  void Done(std::uint64_t cell, const Value& report, wire::Ending ending = wire::Ending::kReported,
            std::uint32_t flags = 0, std::uint32_t detail = 0) {
    wire::DoneHeader header{};
    header.ending = ending;
    header.flags = flags;
    header.detail = detail;
    Send(wire::ToHost::kDone, cell, AsBytes(header) + Encoded(report));
  }
  void Return(std::uint64_t cell, Value result, std::uint32_t flags = 0) {
    Dict report;
    report.items.emplace_back(std::string("end"), std::string("returned"));
    report.items.emplace_back(std::string("result"), std::move(result));
    Done(cell, report, wire::Ending::kReported, flags);
  }
  void Output(std::uint64_t cell, char stream, std::string_view text) {
    Send(wire::ToHost::kOutput, cell, std::string(1, stream) + std::string(text));
  }
  void Call(std::uint64_t cell, std::uint32_t seq, const std::string& tool, Dict keywords = {}) {
    const wire::CallHeader header{.seq = seq, .trace_length = 0};
    const Value call = List{{Value(tool), Value(List{}), Value(std::move(keywords))}};
    Send(wire::ToHost::kCall, cell, AsBytes(header) + Encoded(call));
  }

  // Returns the next message. nullopt: the worker must end.
  std::optional<Received> Receive() {
    Received message;
    while (!killed()) {
      auto frame = reader_.Next();
      if (!frame) return std::nullopt;
      if (!frame->has_value()) {
        reader_.header().reader_waits.store(1);
        if (reader_.empty()) {
          wire::FutexWait(reader_.header().tail, reader_.position(), 20'000'000);
        }
        reader_.header().reader_waits.store(0);
        continue;
      }
      if (reader_.TakeWriterWaits()) Notify();
      message.kind = static_cast<wire::ToWorker>((*frame)->kind);
      message.cell = (*frame)->cell;
      message.payload.append((*frame)->payload);
      if (((*frame)->flags & wire::kMoreFollows) == 0) return message;
    }
    return std::nullopt;
  }

 private:
  Channel channel_;
  UniqueFd notify_;
  wire::RingReader reader_;
  wire::RingWriter writer_;
  std::atomic<bool> killed_{false};
};

// The behaviour of a started worker; returns its exit. `number` counts the started workers, from 0.
using WorkerScript = std::function<WorkerExit(WorkerEnd& end, int number)>;

class ThreadWorker final : public WorkerHandle {
 public:
  ThreadWorker(const LaunchSpec& spec, WorkerScript script, int number)
      : end_(spec.channel, spec.notify), ended_(::eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this, script = std::move(script), number] {
      exit_ = script(end_, number);
      const std::uint64_t one = 1;
      (void)!::write(ended_.get(), &one, sizeof one);
    });
  }
  ~ThreadWorker() override {
    Kill();
    if (thread_.joinable()) thread_.join();
  }
  const UniqueFd& ended() const override { return ended_; }
  void Kill() override { end_.Kill(); }
  WorkerExit Reap() override {
    if (thread_.joinable()) thread_.join();
    return exit_;
  }

 private:
  WorkerEnd end_;
  UniqueFd ended_;
  WorkerExit exit_;
  std::thread thread_;
};

class ThreadLauncher final : public Launcher {
 public:
  explicit ThreadLauncher(WorkerScript script) : script_(std::move(script)) {}
  Result<std::unique_ptr<WorkerHandle>> Launch(const LaunchSpec& spec) override {
    return std::unique_ptr<WorkerHandle>(
        std::make_unique<ThreadWorker>(spec, script_, started_.fetch_add(1)));
  }

 private:
  const WorkerScript script_;
  std::atomic<int> started_{0};
};

}  // namespace caisson::testing
