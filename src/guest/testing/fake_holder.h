// Holds guests for tests: boots the interpreter once, then runs every piece of code in a forked
// child, which starts from the booted state as a cell does from its snapshot.
//
// Trust     A guest that crashes ends only its child.
// Threads   The test's.
// Lifetime  The interpreter lives until the test program ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/value.h"

namespace caisson {

struct HolderOptions {
  std::vector<std::string> tools = {"echo", "fail", "deny", "doubt"};
  List described_tools = {};  // Entries of "tools" with a description.
  std::int64_t result_bytes = 128 * 1024;
  std::optional<std::string> argv0 = std::nullopt;
  Dict more = {};  // Further fields of the request.
  int max_calls = 1000;
  std::size_t memory_bytes = 0;  // Memory beyond the current use that is allowed. 0: no limit.
};

// The result of one child. `reports` has one entry for each piece of code.
struct Held {
  std::vector<Dict> reports;
  std::string out;
  std::string error_out;
  bool crashed = false;
  int calls = 0;                       // Number of calls posted.
  int most_in_flight = 0;              // Maximum number of open calls at the same time.
  std::vector<std::int64_t> run_ns{};  // CPU time of each piece, from request to report.
  std::int64_t waited_ns = 0;          // Time of waits with a timeout that no answer ended early.

  const Value* Field(std::string_view name) const;  // Of the last report.
  std::string End() const;
  std::string ResultJson() const;  // "-" if there is none.
  std::string Repr() const;
  std::string Error(std::string_view field) const;
  std::int64_t ErrorLine() const;  // -1 if there is none.
};

// Runs the pieces one after the other in one cell.
//
// The tools answer only when the guest waits, in reverse order, so that a test cannot rely on the
// order by accident. `echo` and `create_task` return their only argument, or [positional,
// keywords]; `fail` raises ValueError "boom"; `deny` is denied; `doubt` raises UncertainError
// "perhaps done"; any other name raises LookupError.
Held Hold(const std::vector<std::string>& pieces, const HolderOptions& options = {});
inline Held Hold(const std::string& code, const HolderOptions& options = {}) {
  return Hold(std::vector<std::string>{code}, options);
}

}  // namespace caisson
