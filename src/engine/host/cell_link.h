// A CellLink carries messages to the cells behind it: the many cells of a wasm worker, or one
// native process.
//
// Trust     Everything that comes back is hostile. Implementations pass it to CellProtocol in
//           bounded pieces (Allowed, OnMessage).
// Threads   The thread of its lane.
// Lifetime  Outlives the protocols attached to it, or notifies them (CellProtocol::OnLost) before
//           it is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

class CellProtocol;

// The limit of the answers to one cell that wait in its link, and what is left above it for short
// ones, which say that another did not fit.
inline constexpr std::size_t kMaxUnsentAnswerBytes = 16u << 20;
inline constexpr std::size_t kUnsentReserveBytes = 1u << 20;
inline constexpr std::size_t kShortAnswerBytes = 16u << 10;

// Returns whether an answer of `length` bytes may wait behind `unsent` bytes for the same cell.
constexpr bool HasRoomForAnswer(std::size_t length, std::size_t unsent) {
  const std::size_t most =
      kMaxUnsentAnswerBytes + (length <= kShortAnswerBytes ? kUnsentReserveBytes : 0);
  return length <= most && unsent <= most - length;
}

inline Error TooManyAnswers() {
  return Error(ErrorCode::kResourceExhausted,
               "the answers that the code has not read have more than " +
                   std::to_string(kMaxUnsentAnswerBytes) +
                   " bytes; read some before you make more calls");
}

class CellLink {
 public:
  virtual ~CellLink() = default;
  CellLink(const CellLink&) = delete;
  CellLink& operator=(const CellLink&) = delete;

  // Sends one message, `head` then `body`, to the cell. Fails with kResourceExhausted if too much
  // is queued. Tells the cell's session (SetUnsent) how much waits for it.
  virtual Result<void> Send(wire::ToWorker kind, std::uint64_t cell, std::string_view head,
                            std::string_view body) = 0;

  virtual void Attach(std::shared_ptr<CellProtocol> protocol) = 0;
  virtual void Detach(CellProtocol& protocol) = 0;
  // A save can race with the end of its cell. The link must then ignore the late reply instead of
  // treating it as a violation.
  virtual void ExpectStraySaveAnswer(std::uint64_t cell) = 0;

  // Calls `completion` soon, but not before the caller has returned.
  virtual void Defer(std::move_only_function<void()> completion) = 0;

  // The only process that can restore the cells of this link (its owner field is not filled in).
  // nullopt: any process of the same build can.
  virtual std::optional<CellOrigin> origin() const { return std::nullopt; }

  // The description of the walls around the cells for their outcomes.
  virtual const Boundary& boundary() const = 0;

 protected:
  CellLink() = default;
};

}  // namespace caisson
