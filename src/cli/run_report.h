// How the outcome of a run is told: to a person, the value on stdout and everything else on stderr;
// or as JSON. A RunReport also keeps the files, and says how to go on with a run that waits in the
// store.
//
// Trust     The outcome's text is the guest's and goes through Output::WriteGuest.
// Threads   The main thread.
// Lifetime  A RunReport holds the directory for files open; the rest has no state.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/output_directory.h"
#include "cli/store_flags.h"
#include "engine/limits.h"
#include "engine/outcome.h"

namespace caisson::cli {

struct ReportFlags {
  bool json = false;
  bool file_data = false;
  std::string output;
};

void AddReportFlags(Command command, ReportFlags& flags);

struct ReportedLimits {
  Limits given{};                  // Of the run.
  Limits most = DefaultCeiling();  // That it could have asked for.
};

// Stdout and stderr of the run itself have been shown already, as they came.
void ReportOutcome(const Outcome& outcome, const ReportedLimits& limits, Output& out, Output& err);

class RunReport {
 public:
  // Makes the directory for the files: before anything runs, so that none is lost. `store` is where
  // the run waits if it does.
  static Result<RunReport> Open(ReportFlags flags, StoreFlags store);

  // Returns the exit status of a program that does nothing else. As ReportOutcome, unless as JSON.
  int Tell(const Outcome& outcome, const ReportedLimits& limits, Output& out, Output& err) const;

 private:
  RunReport(ReportFlags flags, StoreFlags store)
      : flags_(std::move(flags)), store_(std::move(store)) {}

  Result<void> SaveFiles(const Outcome& outcome) const;
  // The commands to go on with, to be copied.
  void TellWaiting(const Outcome& outcome, Output& err) const;

  ReportFlags flags_;
  StoreFlags store_;
  std::optional<OutputDirectory> directory_;
};

}  // namespace caisson::cli
