// The JSON form of runs, and pages of any items. Approvals have the same form at every door
// (approval/presentation.h).
//
//   {"id":"run_…","state":"finished","created_at":"…","updated_at":"…","code":"…","outcome":{…}}
//
// Trust     Outcomes, code and arguments are hostile content; they become JSON strings only.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string>

#include "base/json_quote.h"
#include "runs/run_service.h"
#include "store/page.h"

namespace caisson::rest {

// Includes the outcome; null: the run has not ended.
std::string ToJson(const RunView& run);
// Returns the approximate number of bytes that ToJson reads. Large outcomes are not written on an
// event loop.
std::size_t JsonWork(const RunView& run);
// For lists: shows how the run ended, without its output.
std::string Summary(const RunView& run);
// Returns {"items":[...],"next":"…"}; `next` is null on the last page.
template <typename T, typename F>
std::string ToJson(const Page<T>& page, F&& item_json) {
  std::string text = "{\"items\":[";
  for (const T& item : page.items) {
    text.append(text.ends_with('[') ? "" : ",").append(item_json(item));
  }
  return text + "],\"next\":" + (page.next ? JsonQuoted(*page.next) : "null") + "}";
}

}  // namespace caisson::rest
