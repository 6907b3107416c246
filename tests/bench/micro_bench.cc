// Measures the parts that every run uses, one by one: ring, value codec, seal.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/seal.h"
#include "wire/ring.h"
#include "wire/value.h"

namespace caisson {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (!result) std::abort();
  return *std::move(result);
}

void RingFrame(benchmark::State& state) {
  constexpr std::size_t kRingBytes = 1 << 20;
  auto header = std::make_unique<wire::RingHeader>();
  std::vector<std::uint8_t> data(kRingBytes);
  wire::RingWriter writer(*header, data);
  wire::RingReader reader(*header, data);
  const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) {
    if (!writer.Write(1, 0, 7, payload)) std::abort();
    auto frame = Must(reader.Next());
    benchmark::DoNotOptimize(frame);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(RingFrame)->Arg(64)->Arg(4096)->Arg(65536);

// A list of `count` rows such as tools return.
Value Rows(std::int64_t count) {
  List rows;
  for (std::int64_t i = 0; i < count; ++i) {
    rows.items.push_back(Dict{{{std::string("id"), i},
                               {std::string("name"), "row " + std::to_string(i)},
                               {std::string("score"), static_cast<double>(i) / 7},
                               {std::string("tags"), List{{true, Value(), std::string("x")}}}}});
  }
  return rows;
}

void ValueEncode(benchmark::State& state) {
  const Value rows = Rows(state.range(0));
  for (auto _ : state) {
    std::string bytes;
    if (!EncodeValue(rows, bytes)) std::abort();
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK(ValueEncode)->Arg(1)->Arg(100);

void ValueDecode(benchmark::State& state) {
  std::string bytes;
  if (!EncodeValue(Rows(state.range(0)), bytes)) std::abort();
  for (auto _ : state) {
    Value value = Must(DecodeValue(bytes));
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(ValueDecode)->Arg(1)->Arg(100);

SealBinding Binding() {
  return {.owner = OwnerId("bench"), .run = "run_bench", .call_seq = 1};
}

void SealCell(benchmark::State& state) {
  const SealKey key = SealKey::Random();
  const SavedCell cell{.bytes = std::string(static_cast<std::size_t>(state.range(0)), 'x')};
  for (auto _ : state) {
    std::string sealed = Must(Seal(key, Binding(), cell));
    benchmark::DoNotOptimize(sealed);
  }
}
BENCHMARK(SealCell)->Arg(16 << 10)->Arg(256 << 10);

void UnsealCell(benchmark::State& state) {
  const SealKey key = SealKey::Random();
  const SavedCell cell{.bytes = std::string(static_cast<std::size_t>(state.range(0)), 'x')};
  const std::string sealed = Must(Seal(key, Binding(), cell));
  for (auto _ : state) {
    SavedCell opened = Must(Unseal(key, Binding(), sealed));
    benchmark::DoNotOptimize(opened);
  }
}
BENCHMARK(UnsealCell)->Arg(16 << 10)->Arg(256 << 10);

}  // namespace
}  // namespace caisson

BENCHMARK_MAIN();
