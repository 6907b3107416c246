// A DocumentStore keeps one body under each name, with a version: sessions of agents in one, snapshots of AG-UI
// threads in another.
//
// Trust     Bodies are opaque.
// Threads   As RunStore.
// Lifetime  As RunStore.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"

namespace caisson {

namespace asio = boost::asio;

struct Document {
  std::string body{};
  std::int64_t version = 0;
  SystemTime updated_at{};
};

class DocumentStore {
 public:
  virtual ~DocumentStore() = default;

  virtual asio::awaitable<Result<Document>> Find(IsolationKey owner, DocumentId id) = 0;
  // If it is still of version `expected` (0: not there yet); returns the new version.
  // kFailedPrecondition: somebody else was faster.
  virtual asio::awaitable<Result<std::int64_t>> Save(IsolationKey owner, DocumentId id,
                                                     std::int64_t expected, std::string body,
                                                     SystemTime now) = 0;
  virtual asio::awaitable<Result<void>> Remove(IsolationKey owner, DocumentId id) = 0;
};

}  // namespace caisson
