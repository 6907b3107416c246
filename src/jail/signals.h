// Signals around a clone: blocked in the parent so that no handler of ours runs in the child, and set
// back to their defaults there.
//
// Trust     Privileged; see newborn.h for what the child may touch.
// Threads   SignalsBlocked: the thread that made it. ResetSignals: a child between clone and exec.
// Lifetime  Nothing is kept.
#pragma once

#include <signal.h>

namespace caisson::jail {

// Blocks every signal of this thread while it exists.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Exec resets handlers but keeps what is ignored and blocked. Negative, with errno, when it fails.
long ResetSignals();

}  // namespace caisson::jail
