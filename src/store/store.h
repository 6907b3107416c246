// A Store is everything Caisson remembers, behind one interface per concern.
//
//   memory:                 gone with the process; for tests and trials
//   sqlite:caisson.db       one host, one file
//   postgres://host/name    several replicas
//
// Trust     What comes back was written by us, or by whoever else can write to the file or server: blobs are
//           sealed, checkpoints signed, by those who store them.
// Threads   Any executor. Blocking calls run on the store's own threads.
// Lifetime  Destroying a Store waits for the operations under way; the executors that await them must still be
//           there.
#pragma once

#include "store/approvals.h"
#include "store/audit.h"
#include "store/checkpoints.h"
#include "store/documents.h"
#include "store/health.h"
#include "store/maintenance.h"
#include "store/responses.h"
#include "store/runs.h"

namespace caisson {

class Store {
 public:
  virtual ~Store() = default;

  virtual RunStore& runs() = 0;
  virtual ApprovalStore& approvals() = 0;
  virtual AuditLog& audit() = 0;
  virtual CheckpointStore& checkpoints() = 0;
  virtual ResponseStore& responses() = 0;
  virtual DocumentStore& sessions() = 0;
  virtual DocumentStore& snapshots() = 0;
  virtual StoreMaintenance& maintenance() = 0;
  virtual StoreHealth& health() = 0;
};

}  // namespace caisson
