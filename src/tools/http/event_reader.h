// An EventReader extracts the data of server-sent events from a stream of bytes.
//
//   reader.Put(piece);
//   while (auto data = reader.Next()) ...
//
// Trust     Bytes are a server's and may be anything. The reader holds no more than was put; the
//           caller bounds that.
// Threads   One at a time.
// Lifetime  A value.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

class EventReader {
 public:
  void Put(std::string_view bytes);
  // The stream has ended; also ends an unfinished event.
  void End();
  // Returns the data of the next event that has any.
  std::optional<std::string> Next();
  // The bytes of the event that has not ended yet.
  std::size_t unfinished_bytes() const { return line_.size() + (data_ ? data_->size() : 0); }

 private:
  void EndLine();

  bool is_first_line_ = true;  // It may begin with a byte order mark.
  bool after_return_ = false;  // A line feed that follows belongs to the same line end.
  std::string line_;
  std::optional<std::string> data_;
  std::deque<std::string> events_;
};

}  // namespace caisson
