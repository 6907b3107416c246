// The reports of code that was judged and not run: "rejected", "needs_native", "checked".
//
// Trust     As report.h.
// Threads   With the interpreter's lock held.
// Lifetime  Nothing is kept.
#ifndef CAISSON_GUEST_REPORT_JUDGED_H_
#define CAISSON_GUEST_REPORT_JUDGED_H_

#include "guest/policy.h"
#include "guest/report.h"

void ReportJudged(Report* report, const Judgement* judgement, const Request* request);

#endif  // CAISSON_GUEST_REPORT_JUDGED_H_
