// Opens the store of a configuration, and the keys that seal the data in it.
//
//   [store]
//   url = "sqlite:caisson.db"      # relative to the configuration file
//   keys_file = "caisson.keys"     # or keys_env; default: caisson.db.keys, made on the first start
//
// Trust     The operator's configuration.
// Threads   Call at start-up. Blocks.
// Lifetime  The caller owns the store and the keys.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "approval/key_ring.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "store/store.h"

namespace caisson {

// What to do if the database does not exist.
enum class MissingStore { kCreate, kRefuse };

// Fails with kNotFound if the database does not exist and `missing` is kRefuse. Otherwise fails
// like OpenSqliteStore and OpenPostgresStore.
Result<std::unique_ptr<Store>> OpenStore(const Config& config,
                                         MissingStore missing = MissingStore::kCreate);

// If no keys are configured, creates a key file beside the database. Keys of a store in memory end
// with the process.
Result<KeyRing> OpenKeys(const Config& config, const EnvironmentMap& host);

// Returns the host's own files that no mount may show: the database, the keys and the audit file.
// If no store is configured, returns those default files that exist.
std::vector<std::string> StoreFiles(const Config& config);

}  // namespace caisson
