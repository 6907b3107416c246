// Runs and approvals as clients see them.
//
//   {"id":"run_…","state":"finished","created_at":"…","updated_at":"…","code":"…","outcome":{…}}
//
// Trust     Outcomes, code and arguments are hostile content; here they become JSON strings and nothing else.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string>

#include "base/json_quote.h"
#include "base/result.h"
#include "codeact/run_service.h"
#include "store/page.h"

namespace caisson::rest {

// With its outcome, of one that runs: null.
std::string ToJson(const RunView& run);
// For lists: how it ended, without what it said.
std::string Summary(const RunView& run);
// With the arguments exactly as they were hashed, hidden characters spelled out. An error: the stored text is not the
// one that was hashed, and nobody may be asked about it (I5).
Result<std::string> ToJson(const StoredApproval& approval);

// {"items":[...],"next":"…"}; the last page's `next` is null.
template <typename T, typename F>
Result<std::string> ToJson(const Page<T>& page, F&& item_json) {
  std::string text = "{\"items\":[";
  for (const T& item : page.items) {
    TRY_ASSIGN(const std::string json, Result<std::string>(item_json(item)));
    text.append(text.ends_with('[') ? "" : ",").append(json);
  }
  return text + "],\"next\":" + (page.next ? JsonQuoted(*page.next) : "null") + "}";
}

}  // namespace caisson::rest
