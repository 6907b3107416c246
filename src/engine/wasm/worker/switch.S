# See switch.h. Nothing here or on the guest's stack refers to the host's heap, its stack or thread
# storage: all state is at link-time addresses (the worker is linked without PIE).
#
# The offsets are those of SwitchBlock.
.set HOST_STACK, 0
.set GUEST_STACK, 8
.set WAIT_TIMEOUT, 16
.set WAIT_SEQ, 24
.set WAIT_ANSWER, 28
.set LEFT, 32

.set PARKED, 1
.set FINISHED, 2
.set YIELDED, 7

.macro PUSH_SAVED
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
.endm
.macro POP_SAVED
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
.endm

.text

.globl caisson_enter
.type caisson_enter, @function
caisson_enter:
  PUSH_SAVED
  movq %rsp, caisson_switch+HOST_STACK(%rip)
  movq %rdi, %rsp
  # From here a signal may preempt or end the guest: the host's stack pointer is safe above.
  movl $1, caisson_in_guest(%rip)
  POP_SAVED
  movl caisson_switch+WAIT_ANSWER(%rip), %eax
  ret

# u32 wait(instance, u32 seq, u64 timeout_ns): the import at which a cell is parked. Written here,
# not compiled, so that no cached host pointer can be on the stack that is saved.
.globl Z_hostZ_wait
.type Z_hostZ_wait, @function
Z_hostZ_wait:
  # Still guest code for the signal handlers: a stack that is used up right here is the guest's
  # fault.
  PUSH_SAVED
  movl $0, caisson_in_guest(%rip)
  movl %esi, caisson_switch+WAIT_SEQ(%rip)
  movq %rdx, caisson_switch+WAIT_TIMEOUT(%rip)
  movq %rsp, caisson_switch+GUEST_STACK(%rip)
  movl $PARKED, caisson_switch+LEFT(%rip)
  jmp caisson_leave

# void caisson_yield(): leaves the guest at the end of a host function, to come back to it.
# Callee-saved registers are all that the caller can rely on after a call, so nothing else is kept.
.globl caisson_yield
.type caisson_yield, @function
caisson_yield:
  PUSH_SAVED
  movq %rsp, caisson_switch+GUEST_STACK(%rip)
  movl $YIELDED, caisson_switch+LEFT(%rip)
  jmp caisson_leave

.globl caisson_trampoline
.type caisson_trampoline, @function
caisson_trampoline:
  movq %r12, %rdi
  call Z_pythonZ_caisson_run
  movl $0, caisson_in_guest(%rip)
  movl $FINISHED, caisson_switch+LEFT(%rip)
  # Falls through.

.globl caisson_leave
.type caisson_leave, @function
caisson_leave:
  movq caisson_switch+HOST_STACK(%rip), %rsp
  POP_SAVED
  # Code on either side may assume it; a preempted guest may have been anywhere.
  cld
  ret

.globl caisson_resume_preempted
.type caisson_resume_preempted, @function
caisson_resume_preempted:
  PUSH_SAVED
  movq %rsp, caisson_switch+HOST_STACK(%rip)
.globl caisson_resume_fault
caisson_resume_fault:
  ud2

.section .note.GNU-stack, "", @progbits
