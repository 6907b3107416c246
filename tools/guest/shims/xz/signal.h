/* liblzma's thread header wants to block signals even when built without threads; a cell has none to block. */
#ifndef CAISSON_GUEST_XZ_SIGNAL_H
#define CAISSON_GUEST_XZ_SIGNAL_H

typedef int sigset_t;

static inline int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  (void)how, (void)set, (void)old;
  return 0;
}

#endif
