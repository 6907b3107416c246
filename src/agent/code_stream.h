// A CodeStream reads the code out of the arguments of execute_code while they arrive.
//
// It follows arguments whose first key is "code", as models write them. For others it returns
// nothing; the code is then known when the arguments are complete.
//
// Trust     The arguments are hostile. They are only shown before they are complete, not executed.
// Threads   A value.
// Lifetime  A value. One per call.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace caisson {

class CodeStream {
 public:
  // `arguments`: all of them so far. Returns the code that was added since the last time.
  std::string Read(std::string_view arguments);

 private:
  enum class Place { kBefore, kInside, kOver };

  // Moves behind the quote that begins the code, if it is there.
  void FindBegin(std::string_view arguments);
  // Reads the escape at next_. Returns false if it is not complete.
  bool ReadEscape(std::string_view arguments, std::string& code);

  Place place_ = Place::kBefore;
  std::size_t next_ = 0;
};

}  // namespace caisson
