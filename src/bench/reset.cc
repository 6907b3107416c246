#include "bench/reset.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "bench/lane_work.h"
#include "engine/wasm/worker/base_file.h"
#include "engine/wasm/worker/linear_memory.h"

namespace caisson::bench {

Result<Samples> ResetTimes(const std::string& base_path, int resets) {
  UniqueFd file(::open(base_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "open " + base_path);
  TRY_ASSIGN(const worker::BaseFile base, worker::BaseFile::Open(std::move(file)));
  TRY_ASSIGN(worker::DirtyPages dirty, worker::DirtyPages::Open());
  TRY_ASSIGN(worker::LinearMemory memory, worker::LinearMemory::Map(base, dirty));
  Samples samples;
  samples.reserve(static_cast<std::size_t>(resets));
  for (int i = -1; i < resets; ++i) {  // The first one takes the page faults.
    for (const worker::PageRange& range : base.hot()) {
      for (std::uint32_t page = range.first; page < range.first + range.count; ++page) {
        memory.data()[page * worker::kPageBytes] ^= 0xff;
      }
    }
    const auto begin = Clock::now();
    memory.Reset();
    if (i >= 0) samples.push_back(Microseconds(Clock::now() - begin));
  }
  if (!memory.IsPristine()) return Error(ErrorCode::kInternal, "a reset left something behind");
  return samples;
}

}  // namespace caisson::bench
