// Converts a run's outcome to the result of a tool: the outcome object as structuredContent, and a
// form for a model to read, with images shown and other files as links to resources.
//
// Trust     Everything in an outcome is the guest's: bounded by its limits, converted to UTF-8.
// Threads   Pure functions.
// Lifetime  Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/mcp/mcp_caller.h"
#include "runs/run_service.h"
#include "wire/value.h"

namespace caisson::mcp {

// The JSON Schema of the outcome object.
Value OutcomeSchema();

// Returns the fields of a tool's result, for a client of protocol `version`.
Dict OutcomeResult(const RunView& run, std::string_view version);

// Returns about how many bytes OutcomeResult writes: a large result is made in a pool.
std::size_t OutcomeWork(const RunView& run);

// Converts the address of a captured file to a resource URI and back.
struct FileAddress {
  RunId run;
  std::uint32_t number = 0;
};
std::string FileUri(const FileAddress& address, std::string_view path);
std::optional<FileAddress> ParseFileUri(std::string_view uri);

}  // namespace caisson::mcp
