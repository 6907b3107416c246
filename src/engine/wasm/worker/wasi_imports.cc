// The functions of wasi_snapshot_preview1 under the names that wasm2c gives them, called by the
// generated code.
//
// Linked with the generated code only. They contain no logic: each marks that host code runs, finds
// the current cell and calls the shim. A call that needs the host's files first leaves the guest
// until they arrive, and is then repeated, so that no host code waits on the guest's stack. A long
// call is made in slices; between two of them the timer may preempt the cell.

#include <cstdint>

#include "engine/wasm/worker/guest_host.h"
#include "engine/wasm/worker/host_scope.h"
#include "engine/wasm/worker/wasi.h"

extern "C" {
struct Z_host_instance_t;
std::uint32_t Z_hostZ_wait(Z_host_instance_t*, std::uint32_t seq, std::uint64_t timeout_ns);
}

namespace caisson::worker {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <typename... Parameters>
Errno ServeOnce(Progress& progress, Errno (WasiShim::*function)(Parameters...),
                Parameters... arguments) {
  const HostScope scope;
  WasiShim shim(CurrentShim(progress));
  const Errno answer = (shim.*function)(arguments...);
  if (answer == Errno::kPending) GuestHost::current->AskHost();
  return answer;
}

template <typename... Parameters>
U32 Serve(Errno (WasiShim::*function)(Parameters...), Parameters... arguments) {
  Progress progress;
  while (true) {
    const Errno answer = ServeOnce(progress, function, arguments...);
    if (answer == Errno::kPending) {
      Z_hostZ_wait(nullptr, 0, UINT64_MAX);
    } else if (answer != Errno::kUnfinished) {
      return static_cast<U32>(answer);
    }
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): wasm2c's names.

extern "C" {

struct Z_wasi_snapshot_preview1_instance_t;
using Instance = Z_wasi_snapshot_preview1_instance_t;

U32 Z_wasi_snapshot_preview1Z_args_get(Instance*, U32 pointers, U32 text) {
  return Serve(&WasiShim::ArgsGet, pointers, text);
}

U32 Z_wasi_snapshot_preview1Z_args_sizes_get(Instance*, U32 count, U32 text_bytes) {
  return Serve(&WasiShim::ArgsSizesGet, count, text_bytes);
}

U32 Z_wasi_snapshot_preview1Z_environ_get(Instance*, U32 pointers, U32 text) {
  return Serve(&WasiShim::EnvironGet, pointers, text);
}

U32 Z_wasi_snapshot_preview1Z_environ_sizes_get(Instance*, U32 count, U32 text_bytes) {
  return Serve(&WasiShim::EnvironSizesGet, count, text_bytes);
}

U32 Z_wasi_snapshot_preview1Z_clock_res_get(Instance*, U32 id, U32 result) {
  return Serve(&WasiShim::ClockResGet, id, result);
}

U32 Z_wasi_snapshot_preview1Z_clock_time_get(Instance*, U32 id, U64 precision, U32 result) {
  return Serve(&WasiShim::ClockTimeGet, id, precision, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_advise(Instance*, U32 fd, U64 offset, U64 length, U32 advice) {
  return Serve(&WasiShim::FdAdvise, fd, offset, length, advice);
}

U32 Z_wasi_snapshot_preview1Z_fd_allocate(Instance*, U32 fd, U64 offset, U64 length) {
  return Serve(&WasiShim::FdAllocate, fd, offset, length);
}

U32 Z_wasi_snapshot_preview1Z_fd_close(Instance*, U32 fd) {
  return Serve(&WasiShim::FdClose, fd);
}

U32 Z_wasi_snapshot_preview1Z_fd_datasync(Instance*, U32 fd) {
  return Serve(&WasiShim::FdDatasync, fd);
}

U32 Z_wasi_snapshot_preview1Z_fd_fdstat_get(Instance*, U32 fd, U32 result) {
  return Serve(&WasiShim::FdFdstatGet, fd, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_fdstat_set_flags(Instance*, U32 fd, U32 flags) {
  return Serve(&WasiShim::FdFdstatSetFlags, fd, flags);
}

U32 Z_wasi_snapshot_preview1Z_fd_fdstat_set_rights(Instance*, U32 fd, U64 base, U64 inheriting) {
  return Serve(&WasiShim::FdFdstatSetRights, fd, base, inheriting);
}

U32 Z_wasi_snapshot_preview1Z_fd_filestat_get(Instance*, U32 fd, U32 result) {
  return Serve(&WasiShim::FdFilestatGet, fd, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_filestat_set_size(Instance*, U32 fd, U64 size) {
  return Serve(&WasiShim::FdFilestatSetSize, fd, size);
}

U32 Z_wasi_snapshot_preview1Z_fd_filestat_set_times(Instance*, U32 fd, U64 accessed, U64 modified,
                                                    U32 flags) {
  return Serve(&WasiShim::FdFilestatSetTimes, fd, accessed, modified, flags);
}

U32 Z_wasi_snapshot_preview1Z_fd_pread(Instance*, U32 fd, U32 buffers, U32 count, U64 offset,
                                       U32 result) {
  return Serve(&WasiShim::FdPread, fd, buffers, count, offset, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_prestat_get(Instance*, U32 fd, U32 result) {
  return Serve(&WasiShim::FdPrestatGet, fd, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_prestat_dir_name(Instance*, U32 fd, U32 path, U32 length) {
  return Serve(&WasiShim::FdPrestatDirName, fd, path, length);
}

U32 Z_wasi_snapshot_preview1Z_fd_pwrite(Instance*, U32 fd, U32 buffers, U32 count, U64 offset,
                                        U32 result) {
  return Serve(&WasiShim::FdPwrite, fd, buffers, count, offset, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_read(Instance*, U32 fd, U32 buffers, U32 count, U32 result) {
  return Serve(&WasiShim::FdRead, fd, buffers, count, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_readdir(Instance*, U32 fd, U32 buffer, U32 length, U64 cookie,
                                         U32 result) {
  return Serve(&WasiShim::FdReaddir, fd, buffer, length, cookie, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_renumber(Instance*, U32 from, U32 to) {
  return Serve(&WasiShim::FdRenumber, from, to);
}

U32 Z_wasi_snapshot_preview1Z_fd_seek(Instance*, U32 fd, U64 offset, U32 whence, U32 result) {
  return Serve(&WasiShim::FdSeek, fd, offset, whence, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_sync(Instance*, U32 fd) {
  return Serve(&WasiShim::FdSync, fd);
}

U32 Z_wasi_snapshot_preview1Z_fd_tell(Instance*, U32 fd, U32 result) {
  return Serve(&WasiShim::FdTell, fd, result);
}

U32 Z_wasi_snapshot_preview1Z_fd_write(Instance*, U32 fd, U32 buffers, U32 count, U32 result) {
  return Serve(&WasiShim::FdWrite, fd, buffers, count, result);
}

U32 Z_wasi_snapshot_preview1Z_path_create_directory(Instance*, U32 fd, U32 path, U32 length) {
  return Serve(&WasiShim::PathCreateDirectory, fd, path, length);
}

U32 Z_wasi_snapshot_preview1Z_path_filestat_get(Instance*, U32 fd, U32 lookup, U32 path, U32 length,
                                                U32 result) {
  return Serve(&WasiShim::PathFilestatGet, fd, lookup, path, length, result);
}

U32 Z_wasi_snapshot_preview1Z_path_filestat_set_times(Instance*, U32 fd, U32 lookup, U32 path,
                                                      U32 length, U64 accessed, U64 modified,
                                                      U32 flags) {
  return Serve(&WasiShim::PathFilestatSetTimes, fd, lookup, path, length, accessed, modified,
               flags);
}

U32 Z_wasi_snapshot_preview1Z_path_link(Instance*, U32 old_fd, U32 lookup, U32 old_path,
                                        U32 old_length, U32 new_fd, U32 new_path, U32 new_length) {
  return Serve(&WasiShim::PathLink, old_fd, lookup, old_path, old_length, new_fd, new_path,
               new_length);
}

U32 Z_wasi_snapshot_preview1Z_path_open(Instance*, U32 fd, U32 lookup, U32 path, U32 length,
                                        U32 open_flags, U64 rights, U64 inheriting, U32 flags,
                                        U32 result) {
  return Serve(&WasiShim::PathOpen, fd, lookup, path, length, open_flags, rights, inheriting, flags,
               result);
}

U32 Z_wasi_snapshot_preview1Z_path_readlink(Instance*, U32 fd, U32 path, U32 length, U32 buffer,
                                            U32 buffer_bytes, U32 result) {
  return Serve(&WasiShim::PathReadlink, fd, path, length, buffer, buffer_bytes, result);
}

U32 Z_wasi_snapshot_preview1Z_path_remove_directory(Instance*, U32 fd, U32 path, U32 length) {
  return Serve(&WasiShim::PathRemoveDirectory, fd, path, length);
}

U32 Z_wasi_snapshot_preview1Z_path_rename(Instance*, U32 old_fd, U32 old_path, U32 old_length,
                                          U32 new_fd, U32 new_path, U32 new_length) {
  return Serve(&WasiShim::PathRename, old_fd, old_path, old_length, new_fd, new_path, new_length);
}

U32 Z_wasi_snapshot_preview1Z_path_symlink(Instance*, U32 old_path, U32 old_length, U32 fd,
                                           U32 new_path, U32 new_length) {
  return Serve(&WasiShim::PathSymlink, old_path, old_length, fd, new_path, new_length);
}

U32 Z_wasi_snapshot_preview1Z_path_unlink_file(Instance*, U32 fd, U32 path, U32 length) {
  return Serve(&WasiShim::PathUnlinkFile, fd, path, length);
}

U32 Z_wasi_snapshot_preview1Z_poll_oneoff(Instance*, U32 in, U32 out, U32 count, U32 result) {
  return Serve(&WasiShim::PollOneoff, in, out, count, result);
}

U32 Z_wasi_snapshot_preview1Z_sched_yield(Instance*) {
  return Serve(&WasiShim::SchedYield);
}

U32 Z_wasi_snapshot_preview1Z_random_get(Instance*, U32 buffer, U32 length) {
  return Serve(&WasiShim::RandomGet, buffer, length);
}

U32 Z_wasi_snapshot_preview1Z_sock_accept(Instance*, U32 fd, U32 flags, U32 result) {
  return Serve(&WasiShim::SockAccept, fd, flags, result);
}

U32 Z_wasi_snapshot_preview1Z_sock_recv(Instance*, U32 fd, U32 buffers, U32 count, U32 flags,
                                        U32 result, U32 result_flags) {
  return Serve(&WasiShim::SockRecv, fd, buffers, count, flags, result, result_flags);
}

U32 Z_wasi_snapshot_preview1Z_sock_send(Instance*, U32 fd, U32 buffers, U32 count, U32 flags,
                                        U32 result) {
  return Serve(&WasiShim::SockSend, fd, buffers, count, flags, result);
}

U32 Z_wasi_snapshot_preview1Z_sock_shutdown(Instance*, U32 fd, U32 how) {
  return Serve(&WasiShim::SockShutdown, fd, how);
}

void Z_wasi_snapshot_preview1Z_proc_exit(Instance*, U32 code) {
  caisson_exit_guest(code);
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming)

}  // namespace caisson::worker
