// A CellLink carries messages to the cells behind it: a wasm worker full of them, or one native process.
//
// Trust     What comes back is hostile; whoever implements a link hands it to CellSession in bounded
//           pieces (Allowed, OnMessage).
// Threads   Its lane's.
// Lifetime  Outlives the sessions attached to it, or tells them (CellSession::OnLost) before it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

class CellSession;

class CellLink {
 public:
  virtual ~CellLink() = default;
  CellLink(const CellLink&) = delete;
  CellLink& operator=(const CellLink&) = delete;

  // Sends one message, `head` then `body`, to the cell. kResourceExhausted: too much is queued.
  virtual Result<void> Send(wire::ToWorker kind, std::uint64_t cell, std::string_view head,
                            std::string_view body) = 0;

  virtual void Attach(std::shared_ptr<CellSession> session) = 0;
  virtual void Detach(CellSession& session) = 0;
  // A kSave may cross the end of its cell; its answer is then of no use and no offence.
  virtual void ExpectStraySaveAnswer(std::uint64_t cell) = 0;

  // Calls `completion` soon, and not before the caller has returned.
  virtual void Defer(std::move_only_function<void()> completion) = 0;

  // Where alone its cells can be taken back once they are saved, but for their owner; nothing: wherever their build is.
  virtual std::optional<CellOrigin> origin() const { return std::nullopt; }

  // What outcomes say about the walls around the cells.
  virtual const Boundary& boundary() const = 0;

 protected:
  CellLink() = default;
};

}  // namespace caisson
