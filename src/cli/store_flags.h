// How a command reaches what is stored: the configured store, for one identity.
//
//   caisson approvals list --config caisson.toml --tenant acme --user ann
//
// Trust     Whoever may read the store's file may act for everybody in it; the flags only say for
//           whom.
// Threads   The main thread.
// Lifetime  An OpenedStore owns the store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "cli/command.h"
#include "config/config.h"
#include "identity/identity.h"
#include "store/store.h"

namespace caisson::cli {

struct StoreFlags {
  std::string config{};
  std::optional<std::string> tenant{};
  std::optional<std::string> user{};
  std::optional<std::string> chat{};
};

void AddStoreFlags(Command command, StoreFlags& flags);

struct OpenedStore {
  Config config;
  std::unique_ptr<Store> store;
  IsolationKey owner;
};

// A store that is not there is not made: who looks at nothing has the wrong configuration.
Result<OpenedStore> OpenStoreOf(const StoreFlags& flags);

// Who sits here, for the record of who decided.
std::string CurrentUser();

}  // namespace caisson::cli
