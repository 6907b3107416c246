#include "engine/wasm/worker/last_words.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "engine/wasm/worker/window.h"

// Defined by the linker: the start and end of the program.
extern "C" const char __executable_start[];
extern "C" const char _end[];

namespace caisson::worker {
namespace {

// Builds a line for the log without allocating memory.
class Line {
 public:
  Line& operator<<(std::string_view text) {
    text = text.substr(0, sizeof text_ - used_);
    std::ranges::copy(text, text_ + used_);
    used_ += text.size();
    return *this;
  }
  Line& Hex(std::uint64_t number) {
    char digits[16];
    char* first = std::end(digits);
    do {
      *--first = "0123456789abcdef"[number % 16];
      number /= 16;
    } while (number != 0);
    return *this << "0x" << std::string_view(first, std::end(digits));
  }
  // A full log must not prevent the worker from ending.
  void Write() const { static_cast<void>(::write(STDERR_FILENO, text_, used_)); }

 private:
  char text_[256];
  std::size_t used_ = 0;
};

std::string_view NameOf(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    default:
      return "a signal";
  }
}

}  // namespace

std::string_view AddressKind(const siginfo_t& info, bool cell_memory) {
  const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
  if (info.si_code <= 0) return "sent by another process";
  if (info.si_code == SI_KERNEL) return "an address that no program can have";
  if (address < 4096) return "a null pointer";
  if (cell_memory) return "the memory of the cell that runs, or its guard";
  if (address >= kWindow && address < kStackBottom) return "the guard below the guest's stack";
  if (address >= kStackBottom && address < kStackTop + kGuardBytes) return "the guest's stack";
  if (address >= reinterpret_cast<std::uint64_t>(__executable_start) &&
      address < reinterpret_cast<std::uint64_t>(_end)) {
    return "the worker's own code or data";
  }
  return "an address that is not the guest's";
}

void SayFault(int signal, const siginfo_t& info, std::uint64_t instruction, bool in_guest,
              bool cell_memory) {
  Line line;
  line << "caisson-worker: " << NameOf(signal) << (in_guest ? " in guest code" : " in host code")
       << ", instruction ";
  line.Hex(instruction) << ": " << AddressKind(info, cell_memory) << "\n";
  line.Write();
}

}  // namespace caisson::worker

// The C library's abort() makes calls that the filter kills, so its end would be reported as a
// denied call. The linker replaces it by this function (--wrap). It ends the worker by an
// instruction, which OnFault reports.
extern "C" [[noreturn]] void __wrap_abort() {  // NOLINT(bugprone-reserved-identifier)
  constexpr std::string_view kWords = "caisson-worker: aborted: a check of its own failed\n";
  static_cast<void>(::write(STDERR_FILENO, kWords.data(), kWords.size()));
  __builtin_trap();
}
