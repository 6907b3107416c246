/* The part of libuuid's interface that CPython's _uuid module uses. */
#ifndef CAISSON_GUEST_UUID_H
#define CAISSON_GUEST_UUID_H

typedef unsigned char uuid_t[16];

/* Writes a version 1 (time based) UUID. Returns 0: always safe, see uuid.c. */
int uuid_generate_time_safe(uuid_t out);
void uuid_generate_time(uuid_t out);

#endif
