// Decides, like Python's own prompt, whether typed Python is a whole statement or needs more lines.
//
// Trust     Text that a person types. A wrong answer does no harm: the guest parses the text again.
// Threads   Pure.
// Lifetime  Pure.
#pragma once

#include <string_view>

namespace caisson::cli {

// `text` contains whole lines. A statement needs more lines inside brackets or a triple-quoted
// string, after a backslash, and in a block (`if x:`, a decorator) until an empty line ends it.
bool NeedsMore(std::string_view text);

}  // namespace caisson::cli
