// Builds the reports of code that was checked and not run: "rejected", "needs_native", "checked".
//
// Trust     As report.h.
// Threads   With the interpreter lock held.
// Lifetime  Nothing is kept.
#ifndef CAISSON_GUEST_REPORT_JUDGED_H_
#define CAISSON_GUEST_REPORT_JUDGED_H_

#include "guest/policy.h"
#include "guest/report.h"

void ReportJudged(Report* report, const Judgement* judgement, const Request* request);

#endif  // CAISSON_GUEST_REPORT_JUDGED_H_
