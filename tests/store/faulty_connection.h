// A FaultyConnection is a connection whose statements fail according to a plan: with a full disk,
// an I/O error, a busy database or a lost connection. The product has no such switch: tests put
// these connections into a Database themselves.
//
//   auto plan = std::make_shared<FaultPlan>();
//   auto store = OpenFaulty(backend, plan);
//   plan->Fail(7, Fault::kFull);       // the seventh statement from now on fails, once
//
// Trust     For tests.
// Threads   A plan from any; a connection as Connection.
// Lifetime  Connections share their plan.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/guarded.h"
#include "store/sql/sql_connection.h"
#include "store/store.h"
#include "tests/store/backend.h"

namespace caisson {

enum class Fault {
  kFull,
  kIo,
  kBusy,
  kLost,  // The statement was not executed.
  // It was executed, but its answer did not arrive. For a COMMIT, the result is unknown.
  kLostAfterward,
};
inline constexpr Fault kAllFaults[] = {Fault::kFull, Fault::kIo, Fault::kBusy, Fault::kLost,
                                       Fault::kLostAfterward};
std::string ToString(Fault fault);

// Decides which statement fails. BEGIN and COMMIT are statements too.
class FaultPlan {
 public:
  // The `number`th statement from now on (from 1) fails, and no other.
  void Fail(int number, Fault fault) { FailAll(number, number, fault); }
  // All from `first` to `last` fail, on every connection.
  void FailAll(int first, int last, Fault fault) {
    *state_.Lock() = {.first = first, .last = last, .fault = fault};
  }
  // Every statement from the next one that contains `text` fails, until Stop().
  void FailFrom(std::string text, Fault fault) {
    *state_.Lock() = {.fault = fault, .from = std::move(text)};
  }
  void Stop() { *state_.Lock() = {}; }
  // Statements since the last Fail or Stop.
  int statements() { return state_.Lock()->statements; }
  // The text of the first failed statement since then; empty: none failed.
  std::string failed() { return state_.Lock()->failed; }

  // Counts a statement. nullopt: it does not fail.
  std::optional<Fault> Next(std::string_view sql);

 private:
  struct State {
    int statements = 0;
    int first = 0;
    int last = -1;
    Fault fault = Fault::kFull;
    std::string from{};
    std::string failed{};
  };
  Guarded<State> state_;
};

// A Store on the backend's database (SQLite or PostgreSQL) whose statements fail as planned.
std::unique_ptr<Store> OpenFaulty(Backend& backend, std::shared_ptr<FaultPlan> plan);

}  // namespace caisson
