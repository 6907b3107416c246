// Flags that select the configured store and one identity in it.
//
//   caisson approvals list --config caisson.toml --tenant acme --user ann
//
// Trust     A user who can read the file of the store can act for every identity in it. The flags
//           select one.
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

// Fails with kNotFound if the store does not exist: the user has probably named the wrong
// configuration.
Result<OpenedStore> OpenStoreOf(const StoreFlags& flags);

// Returns the name of the user at the terminal, for the record of who decided.
std::string CurrentUser();

}  // namespace caisson::cli
