// A Store keeps all persistent data of Caisson, behind one interface per concern.
//
//   memory:                 lost with the process; for tests and trials
//   sqlite:caisson.db       one host, one file
//   postgres://host/name    several replicas
//
// Trust     Stored data was written by Caisson or by anybody else who can write to the file or
//           server. The callers seal blobs and sign checkpoints.
// Threads   Any executor. Blocking calls run on the store's own threads.
// Lifetime  The destructor waits for current operations; the executors that await them must still
//           exist.
#pragma once

#include "store/approvals.h"
#include "store/audit.h"
#include "store/checkpoints.h"
#include "store/documents.h"
#include "store/health.h"
#include "store/maintenance.h"
#include "store/responses.h"
#include "store/runs.h"
#include "store/turns.h"

namespace caisson {

class Store {
 public:
  virtual ~Store() = default;

  virtual RunStore& runs() = 0;
  virtual ApprovalStore& approvals() = 0;
  virtual AuditLog& audit() = 0;
  virtual CheckpointStore& checkpoints() = 0;
  virtual ResponseStore& responses() = 0;
  virtual TurnStore& turns() = 0;
  virtual DocumentStore& sessions() = 0;
  virtual DocumentStore& snapshots() = 0;
  virtual StoreMaintenance& maintenance() = 0;
  virtual StoreHealth& health() = 0;
};

}  // namespace caisson
