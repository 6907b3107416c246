/* Time based UUIDs (RFC 4122 version 1) from the guest's clock and random source.
 *
 * A cell has no network card, so the node is random with the multicast bit set, as the RFC asks. Node and
 * clock sequence are drawn anew for each UUID: all cells start from one snapshot, and whatever was drawn before
 * the snapshot would be the same in every one of them. */
#include "uuid.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* 100 ns intervals between 1582-10-15 and 1970-01-01. */
static const uint64_t kGregorianOffset = 0x01B21DD213814000ULL;

int uuid_generate_time_safe(uuid_t out) {
  struct timespec now;
  unsigned char random[8];
  if (clock_gettime(CLOCK_REALTIME, &now) != 0 || getentropy(random, sizeof random) != 0) abort();
  uint64_t ticks = (uint64_t)now.tv_sec * 10000000u + (uint64_t)now.tv_nsec / 100u + kGregorianOffset;
  for (int i = 0; i < 4; ++i) out[i] = (unsigned char)(ticks >> (24 - 8 * i));
  out[4] = (unsigned char)(ticks >> 40);
  out[5] = (unsigned char)(ticks >> 32);
  out[6] = (unsigned char)(0x10 | ((ticks >> 56) & 0x0f));
  out[7] = (unsigned char)(ticks >> 48);
  out[8] = (unsigned char)(0x80 | (random[0] & 0x3f));
  for (int i = 1; i < 8; ++i) out[8 + i] = random[i];
  out[10] |= 0x01;
  return 0;
}

void uuid_generate_time(uuid_t out) { (void)uuid_generate_time_safe(out); }
