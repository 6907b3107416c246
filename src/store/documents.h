// A DocumentStore keeps one body under each name, with a version. One store holds sessions of
// agents, another one snapshots of AG-UI threads.
//
// Trust     Bodies are opaque.
// Threads   Same as RunStore.
// Lifetime  Same as RunStore.
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
  // Succeeds if the version is still `expected` (0: does not exist yet). Returns the new version.
  // Fails with kFailedPrecondition if the version has changed.
  virtual asio::awaitable<Result<std::int64_t>> Save(IsolationKey owner, DocumentId id,
                                                     std::int64_t expected, std::string body,
                                                     SystemTime now) = 0;
  virtual asio::awaitable<Result<void>> Remove(IsolationKey owner, DocumentId id) = 0;
};

}  // namespace caisson
