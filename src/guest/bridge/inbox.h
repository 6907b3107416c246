// Takes messages of the holder from host_take, whatever their size.
//
// Trust     The holder is trusted.
// Threads   One.
// Lifetime  The result of InboxTake stays valid until the same inbox is used again.
#ifndef CAISSON_GUEST_BRIDGE_INBOX_H_
#define CAISSON_GUEST_BRIDGE_INBOX_H_

#include "guest/bridge/value_codec.h"

typedef struct Inbox {
  uint8_t* data;
  uint32_t capacity;
  uint8_t first[4096];  // Enough for most messages, which then need no allocation.
} Inbox;

// Points `message` at the next message. Returns 1, 0 if there is none, or -1 if it does not fit
// into memory. One writable byte follows the message, so that a string at its end can be terminated
// in place.
int InboxTake(Inbox* inbox, Cursor* message);

#endif  // CAISSON_GUEST_BRIDGE_INBOX_H_
