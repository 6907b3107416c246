// GuestMemory is a checked view of one cell's linear memory. The worker's own code uses no other
// way to access it.
//
// Trust     Every address and length comes from the guest. For a range that is not completely
//           inside the memory the result is empty, and the caller returns an error to the guest.
// Threads   The worker's only thread.
// Lifetime  A view, valid until the memory grows or another cell takes over. Make a new one for
//           each call.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace caisson::worker {

class GuestMemory {
 public:
  GuestMemory(std::uint8_t* data, std::uint64_t size) : data_(data), size_(size) {}

  // Returns the bytes [address, address + length). nullopt: they are not all inside.
  std::optional<std::span<std::uint8_t>> Range(std::uint32_t address, std::uint64_t length) const {
    if (length > size_ || address > size_ - length) return std::nullopt;
    return std::span(data_ + address, static_cast<std::size_t>(length));
  }

  std::optional<std::string_view> Text(std::uint32_t address, std::uint64_t length) const {
    auto range = Range(address, length);
    if (!range) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(range->data()), range->size());
  }

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  std::optional<T> Load(std::uint32_t address) const {
    auto range = Range(address, sizeof(T));
    if (!range) return std::nullopt;
    T value;
    std::memcpy(&value, range->data(), sizeof value);
    return value;
  }

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] bool Store(std::uint32_t address, const T& value) const {
    auto range = Range(address, sizeof(T));
    if (!range) return false;
    std::memcpy(range->data(), &value, sizeof value);
    return true;
  }

 private:
  std::uint8_t* data_;
  std::uint64_t size_;
};

}  // namespace caisson::worker
