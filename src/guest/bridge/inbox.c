#include "guest/bridge/inbox.h"

#include "guest/abi.h"

int InboxTake(Inbox* inbox, Cursor* message) {
  if (inbox->data == NULL) {
    inbox->data = inbox->first;
    inbox->capacity = sizeof inbox->first - 1;
  }
  uint32_t size = host_take(inbox->data, inbox->capacity);
  if (size > inbox->capacity) {
    uint8_t* grown = size < UINT32_MAX ? PyMem_RawMalloc((size_t)size + 1) : NULL;
    if (grown == NULL) return -1;
    if (inbox->data != inbox->first) PyMem_RawFree(inbox->data);
    inbox->data = grown;
    inbox->capacity = size;
    if (host_take(inbox->data, inbox->capacity) != size) return -1;
  }
  message->at = inbox->data;
  message->end = inbox->data + size;
  return size > 0;
}
