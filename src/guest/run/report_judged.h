// Builds the reports of code that was checked and not run: "rejected", "needs_native", "checked".
//
// Trust     As report.h.
// Threads   With the interpreter lock held.
// Lifetime  Nothing is kept.
#ifndef CAISSON_GUEST_RUN_REPORT_JUDGED_H_
#define CAISSON_GUEST_RUN_REPORT_JUDGED_H_

#include "guest/policy/judgement.h"
#include "guest/run/report.h"

void ReportJudged(Report* report, const Judgement* judgement, const Request* request);

#endif  // CAISSON_GUEST_RUN_REPORT_JUDGED_H_
