// A Guest is a cell of a real engine, of either kind, driven from the test's own thread. Every wait
// has a deadline; if it passes, the test program ends, because something hangs.
//
//   auto engine = StartEngine(EngineKind::kWasm);
//   Guest guest = Guest::Open(*engine);
//   guest.Start({.code = "tool(1) + 1", .tools = {"tool"}});
//   guest.Answer(guest.NextCall().seq, Value(41));
//   EXPECT_EQ(guest.End().result, Value(42));
//
// Trust     Data from guests is hostile; tests only inspect it.
// Threads   One test thread per Guest, never a lane's.
// Lifetime  Destroy guests before the engine. The destructor returns when the cell is gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "tests/integration/engines.h"

namespace caisson::testing {

class Guest {
 public:
  static Guest Open(Engine& engine, const std::string& owner = "ann",
                    std::shared_ptr<HostFiles> host_files = nullptr);
  static Result<Guest> Restore(Engine& engine, SavedCell saved, Limits limits = {},
                               const std::string& owner = "ann",
                               std::shared_ptr<HostFiles> host_files = nullptr);
  Guest(Guest&&) noexcept;
  Guest& operator=(Guest&&) = delete;
  ~Guest();

  // Starts a run, or continues a restored one, and returns at once.
  void Start(RunRequest request, AfterRun after = AfterRun::kDiscard);
  void Continue(AfterRun after = AfterRun::kDiscard);

  // Returns the next call that was not returned yet.
  ToolCall NextCall();
  // The same; nullopt if the run ends first.
  std::optional<ToolCall> NextCallOrEnd();
  Result<void> Answer(std::uint32_t seq, ToolAnswer answer);
  // Waits until `text` has been written to stdout while the run is under way.
  void WaitForOutput(std::string_view text);

  // Waits until the run is in a long sleep, and returns its end.
  HostTime WaitForSleep();

  // A call is visible before its cell is at rest: Save() retries until it is.
  Result<SavedCell> Save(AfterSave after);
  Result<SavedCell> TrySave(AfterSave after);
  void Cancel();

  // Waits for the end of the run and returns its outcome.
  Outcome End();
  Result<Outcome> EndOrError();
  // Answers every call with `answer`, until the end.
  Outcome Serve(const std::function<ToolAnswer(const ToolCall&)>& answer);

 private:
  struct State;
  explicit Guest(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// One fresh run from beginning to end. Calls are answered with LookupError.
Outcome RunCode(Engine& engine, std::string code, Limits limits = {});
Outcome RunRequested(Engine& engine, RunRequest request);

// Returns "completed/returned", and the error if there is one, for failed expectations.
std::string Ending(const Outcome& outcome);
// The result as JSON, or how the run ended if it has none.
std::string ResultJson(const Outcome& outcome);

}  // namespace caisson::testing
