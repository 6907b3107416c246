#include "engine/wasm/channel.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace caisson {
namespace {

Result<std::uint8_t*> MapShared(const UniqueFd& memory) {
  void* map =
      ::mmap(nullptr, wire::kChannelBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (map == MAP_FAILED) return Error::FromErrno(errno, "map a worker's channel");
  return static_cast<std::uint8_t*>(map);
}

}  // namespace

Result<Channel> Channel::Create() {
  // Kernels before 6.3 do not know MFD_NOEXEC_SEAL; the jail forbids exec anyway.
  UniqueFd memory(
      ::memfd_create("caisson-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  if (!memory.is_open()) {
    memory = UniqueFd(::memfd_create("caisson-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!memory.is_open()) return Error::FromErrno(errno, "create a worker's channel");
  if (::ftruncate(memory.get(), static_cast<off_t>(wire::kChannelBytes)) != 0) {
    return Error::FromErrno(errno, "size a worker's channel");
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Error::FromErrno(errno, "seal a worker's channel");
  }
  TRY_ASSIGN(std::uint8_t* bytes, MapShared(memory));
  Channel channel(std::move(memory), bytes);
  // Set before there is a worker: even its first message must wake the host.
  channel.layout().to_host.reader_waits.store(1);
  return channel;
}

Result<Channel> Channel::Map(const UniqueFd& memory) {
  TRY_ASSIGN(std::uint8_t* bytes, MapShared(memory));
  return Channel(UniqueFd(), bytes);
}

Channel::Channel(Channel&& other) noexcept
    : memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, nullptr)) {}

Channel::~Channel() {
  if (bytes_ != nullptr) ::munmap(bytes_, wire::kChannelBytes);
}

}  // namespace caisson
