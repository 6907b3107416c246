// Handles signals around a clone: the parent blocks them so that none of its handlers runs in the
// child, and the child resets them to their defaults.
//
// Trust     Privileged; see newborn.h for the restrictions on the child.
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

// Resets signals before an exec, which resets handlers but keeps ignored and blocked signals.
// Returns a negative value and sets errno if it fails.
long ResetSignals();

}  // namespace caisson::jail
