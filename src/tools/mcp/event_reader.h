// An EventReader takes the data of server-sent events out of bytes, as they come.
//
//   reader.Put(piece);
//   while (auto data = reader.Next()) ...
//
// Trust     Bytes are a server's: any at all. What is held is never more than what was put, which is for whoever reads
//           them to bound.
// Threads   One at a time.
// Lifetime  A value.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

class EventReader {
 public:
  void Put(std::string_view bytes);
  // Nothing comes any more: what was not ended is, too.
  void End();
  // The data of the next event that has any.
  std::optional<std::string> Next();

 private:
  void EndLine();

  bool after_return_ = false;  // A line feed that follows it ends no line of its own.
  std::string line_;
  std::optional<std::string> data_;
  std::deque<std::string> events_;
};

}  // namespace caisson
