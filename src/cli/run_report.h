// Reports the outcome of a run: as text, with the value on stdout and everything else on stderr; or
// as JSON. A RunReport also saves the files, and prints the commands that continue a run which
// waits in the store.
//
// Trust     The text of the outcome comes from the guest and goes through Output::WriteGuest.
// Threads   The main thread.
// Lifetime  A RunReport keeps the directory for files open. The rest has no state.
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
  Limits given{};                  // The limits of the run.
  Limits most = DefaultCeiling();  // The limits that it could have asked for.
};

// The stdout and stderr of the run must already have been shown.
void ReportOutcome(const Outcome& outcome, const ReportedLimits& limits, Output& out, Output& err);

class RunReport {
 public:
  // Creates the directory for the files. Call it before the run, so that no file is lost. `store`
  // is the store of a run that waits.
  static Result<RunReport> Open(ReportFlags flags, StoreFlags store);

  // Same as ReportOutcome, or prints JSON if the flags say so. Returns the exit status of the
  // program.
  int Tell(const Outcome& outcome, const ReportedLimits& limits, Output& out, Output& err) const;

 private:
  RunReport(ReportFlags flags, StoreFlags store)
      : flags_(std::move(flags)), store_(std::move(store)) {}

  Result<void> SaveFiles(const Outcome& outcome) const;
  // Prints the commands that continue the run.
  void TellWaiting(const Outcome& outcome, Output& err) const;

  ReportFlags flags_;
  StoreFlags store_;
  std::optional<OutputDirectory> directory_;
};

}  // namespace caisson::cli
