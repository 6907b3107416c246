// Turns what servers report into errors that say what to do.
//
// Trust     Texts are a server's and may repeat the key. Presentable makes them fit for people.
// Threads   Pure functions.
// Lifetime  Keep nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/value.h"

namespace caisson::model {

// Returns the error in an object such as {"error": {"type": ..., "message": ...}}; nullopt if it
// has none. Servers send it in the middle of a stream, or as the whole answer.
std::optional<Error> ReportedError(const Dict& object);

// Returns the error for an answer with this status that is not 2xx.
Error StatusError(int status, std::string_view body);

// Returns the error without the secrets, on one line, shortened, with hidden characters spelled
// out. The secrets go first, so that no part of one is left at the end.
Error Presentable(const Error& error, const std::vector<std::string>& secrets);

}  // namespace caisson::model
