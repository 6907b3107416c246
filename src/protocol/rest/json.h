// Runs as clients see them, and pages of anything. Approvals look as at every door (approval/presentation.h).
//
//   {"id":"run_…","state":"finished","created_at":"…","updated_at":"…","code":"…","outcome":{…}}
//
// Trust     Outcomes, code and arguments are hostile content; here they become JSON strings and nothing else.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string>

#include "base/json_quote.h"
#include "runs/run_service.h"
#include "store/page.h"

namespace caisson::rest {

// With its outcome, of one that runs: null.
std::string ToJson(const RunView& run);
// About how many bytes ToJson reads: large outcomes are not written on an event loop.
std::size_t JsonWork(const RunView& run);
// For lists: how it ended, without what it said.
std::string Summary(const RunView& run);
// {"items":[...],"next":"…"}; the last page's `next` is null.
template <typename T, typename F>
std::string ToJson(const Page<T>& page, F&& item_json) {
  std::string text = "{\"items\":[";
  for (const T& item : page.items) {
    text.append(text.ends_with('[') ? "" : ",").append(item_json(item));
  }
  return text + "],\"next\":" + (page.next ? JsonQuoted(*page.next) : "null") + "}";
}

}  // namespace caisson::rest
