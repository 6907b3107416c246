#!/usr/bin/env python3
"""Writes caisson.seccomp.json: the system calls that a container with Caisson may make, with a reason for each group.

    packaging/make_seccomp_profile.py            rewrite packaging/caisson.seccomp.json
    packaging/make_seccomp_profile.py --check    exit with 1 if the file is not what this script writes

The profile allows the calls of ordinary programs, which is what command tools are, and adds what tier `namespace` needs
to build its jails. It refuses the calls in REFUSED. A call that this list does not know is refused as well.
"""

import json
import pathlib
import sys

FILE = pathlib.Path(__file__).with_name("caisson.seccomp.json")

# The calls that tier `namespace` needs beyond Docker's default profile. None of these gives a
# process anything outside of the user namespace that it made: the kernel checks capabilities there.
NEEDED = [
    ("Makes the user, mount, pid, network, ipc, uts and cgroup namespaces around each worker and each native cell. "
     "clone3 is what the C library uses for threads and processes.",
     ["clone", "clone3", "unshare"]),
    ("Builds the private root of a jail, read-only, in its own mount namespace: an empty tmpfs, the library directories, "
     "and the overlays of mounted directories.",
     ["mount", "mount_setattr", "move_mount", "open_tree", "pivot_root", "umount2"]),
    ("Hides the host's name inside a jail.", ["sethostname", "setdomainname"]),
    ("Limits the files that a jailed process can reach.",
     ["landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self"]),
    ("Loads the jail's own, narrower filter. A filter can only take calls away.", ["seccomp"]),
]

# The reasons why other calls stay refused.
REFUSED = {
    "loads code into the kernel, or replaces it": [
        "bpf", "create_module", "delete_module", "finit_module", "get_kernel_syms", "init_module", "kexec_file_load",
        "kexec_load", "query_module"],
    "belongs to the administrator of the machine": [
        "_sysctl", "acct", "adjtimex", "clock_adjtime", "clock_settime", "fanotify_init", "fanotify_mark", "ioperm", "iopl",
        "lookup_dcookie", "nfsservctl", "quotactl", "quotactl_fd", "reboot", "settimeofday", "swapoff", "swapon", "syslog",
        "vhangup"],
    "opens files without a path, past mount namespaces": ["name_to_handle_at", "open_by_handle_at"],
    "has been a way into the kernel many times": [
        "io_uring_enter", "io_uring_register", "io_uring_setup", "perf_event_open", "userfaultfd"],
    "reads or changes other processes": [
        "kcmp", "migrate_pages", "move_pages", "pidfd_getfd", "process_madvise", "process_vm_readv", "process_vm_writev",
        "ptrace"],
    "the kernel's key rings are shared between containers": ["add_key", "keyctl", "request_key"],
    "places memory on nodes of the machine": [
        "get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"],
    "makes or enters mounts and namespaces in ways that Caisson does not use": [
        "fsconfig", "fsmount", "fsopen", "fspick", "listmount", "setns", "statmount"],
    "obsolete": ["_llseek", "afs_syscall", "epoll_ctl_old", "epoll_wait_old", "get_thread_area", "getpmsg", "modify_ldt",
                 "putpmsg", "remap_file_pages", "security", "set_thread_area", "sysfs", "tuxcall", "uselib", "ustat",
                 "vserver"],
}

# The calls of x86-64 that ordinary programs make.
ORDINARY = """
accept accept4 access alarm arch_prctl bind brk cachestat capget capset chdir chmod chown chroot clock_getres clock_gettime
clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64
fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork fremovexattr
fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat getcpu getcwd
getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority
getrandom getresgid getresuid getrlimit get_robust_list getrusage getsid getsockname getsockopt gettid gettimeofday
getuid getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel ioctl io_destroy io_getevents
io_pgetevents ioprio_get ioprio_set io_setup io_submit kill lchown lgetxattr link linkat listen listxattr llistxattr
lremovexattr lseek lsetxattr lstat madvise membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock
mlock2 mlockall mmap mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap mseal msgctl
msgget msgrcv msgsnd msync munlock munlockall munmap nanosleep newfstatat open openat openat2 pause personality
pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2
prlimit64 process_mrelease pselect6 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg
recvmsg removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask
rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_getaffinity sched_getattr
sched_getparam sched_get_priority_max sched_get_priority_min sched_getscheduler sched_rr_get_interval sched_setaffinity
sched_setattr sched_setparam sched_setscheduler sched_yield select semctl semget semop semtimedop sendfile sendmmsg
sendmsg sendto setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid
setrlimit set_robust_list setsid setsockopt set_tid_address setuid setxattr shmat shmctl shmdt shmget shutdown
sigaltstack signalfd signalfd4 socket socketpair splice stat statfs statx symlink symlinkat sync sync_file_range syncfs
sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork vmsplice
wait4 waitid write writev
""".split()


def rule(comment, names):
    return {"names": sorted(names), "action": "SCMP_ACT_ALLOW", "comment": comment}


def profile():
    refused = [name for names in REFUSED.values() for name in names]
    needed = [name for _, names in NEEDED for name in names]
    assert not set(refused) & set(ORDINARY + needed), set(refused) & set(ORDINARY + needed)
    assert not set(needed) & set(ORDINARY), set(needed) & set(ORDINARY)
    rules = [rule("Ordinary programs, the host's own work and command tools included.", ORDINARY)]
    rules += [rule(comment, names) for comment, names in NEEDED]
    rules += [{"names": sorted(names), "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "comment": "Refused: " + why + "."}
              for why, names in REFUSED.items()]
    # A call that is newer than this list fails as on an older kernel, so that programs use the
    # older one.
    return {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38,
            "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []}], "syscalls": rules}


def main():
    text = json.dumps(profile(), indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        return 0 if FILE.read_text() == text else 1
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
