// What a configuration says about what survives: the store, and the keys that what lies in it is sealed with.
//
//   [store]  url = "sqlite:caisson.db"      # relative to the configuration file
//            keys_file = "caisson.keys"     # or keys_env; by default caisson.db.keys, made on the first start
//
// Trust     The operator's configuration.
// Threads   At start-up; blocks.
// Lifetime  The caller owns both.
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

// Whether a database that is not there is made.
enum class MissingStore { kCreate, kRefuse };

// kNotFound: it is not there and was to be. Else as OpenSqliteStore and OpenPostgresStore.
Result<std::unique_ptr<Store>> OpenStore(const Config& config,
                                         MissingStore missing = MissingStore::kCreate);

// Keys that nobody named are made where the database is; of a store in memory they are gone with the process.
Result<KeyRing> OpenKeys(const Config& config, const EnvironmentMap& host);

// Files of the host's own that code may see through no mount: the database, keys, the audit file. Of a store that nobody has
// configured, those that are there.
std::vector<std::string> StoreFiles(const Config& config);

}  // namespace caisson
