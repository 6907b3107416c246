// Chooses the user id of a jailed process, inside its user namespace and as seen from the host.
//
// Trust     Privileged: decides the host id that hostile code runs under.
// Threads   Any; no state. Not for the child of a clone (uses the heap).
// Lifetime  Values.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace caisson::jail {

// The only id that exists inside the user namespace. There is no id 0 in it, so no process can
// become root in it and exec never grants capabilities by uid.
inline constexpr uid_t kInsideId = 65534;

// The host id of jailed processes if the host can choose it. It lies in the range that the id
// tables of systemd and Debian leave unused, so no account, service or container shares it: no
// other process can signal a worker, and a worker that broke every other wall owns nothing. The id
// 65534 ("nobody") may be shared with other daemons; it is the fallback for hosts that run in a
// container where only 65536 ids are mapped.
inline constexpr uid_t kPrivateId = 0x7fff'0000;

struct Ids {
  uid_t host_uid = 0;
  gid_t host_gid = 0;
  // True: the ids differ from the caller's; the child switches to them and drops all groups. False:
  // without CAP_SETUID and CAP_SETGID the kernel lets a process map only itself, and requires that
  // setgroups is denied first.
  bool chosen = false;
};

Ids ChooseIds();

// Writes the id maps of `pid`, a child in a new user namespace that waits for them.
Result<void> WriteIdMaps(pid_t pid, const Ids& ids);

}  // namespace caisson::jail
