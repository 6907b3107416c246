// A DoorClient is a persistent HTTP connection with at most one request under way. It reads no more
// of an answer than a client must to find its end.
//
// Trust     Answers come from a server of ours, and callers check them.
// Threads   Blocks. Used by one thread.
// Lifetime  The destructor closes the connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::bench {

// Returns a request with a JSON body.
std::string PostRequest(std::uint16_t port, std::string_view path, std::string_view body);

class DoorClient {
 public:
  static Result<std::unique_ptr<DoorClient>> Connect(std::uint16_t port);
  explicit DoorClient(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  // Since the request.
  double waited_us() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - asked_at_)
        .count();
  }

  Result<void> Ask(const std::string& request);
  // Reads once, which may block. Returns true when the answer is complete: it has its length, or
  // it ends with the last chunk.
  Result<bool> Read();
  // Reads until the answer has `text`. Fails if it ends before.
  Result<void> ReadUntil(std::string_view text);
  // Reads the rest of the answer.
  Result<void> ReadToEnd();

  // Fails if the answer is no success or does not contain the text.
  Result<void> Expect(std::string_view text) const;

 private:
  bool IsComplete() const;

  UniqueFd fd_;
  std::string answer_;
  std::chrono::steady_clock::time_point asked_at_{};
};

}  // namespace caisson::bench
