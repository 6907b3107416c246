// Whether typed Python is a whole statement yet, or more lines belong to it: as Python's own prompt
// sees it.
//
// Trust     What a person types. A wrong guess is no harm: the guest parses it again.
// Threads   Pure.
// Lifetime  Pure.
#pragma once

#include <string_view>

namespace caisson::cli {

// `text` is whole lines. More is needed inside brackets, a triple-quoted string or after a
// backslash, and in a block (`if x:`, a decorator) until an empty line ends it.
bool NeedsMore(std::string_view text);

}  // namespace caisson::cli
