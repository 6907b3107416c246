// Reads and writes the little-endian fields of a saved cell's files.
//
// Trust     The reader's bytes are hostile. It never reads past the end. After one failure it
//           returns only zeros and empty views, and ok() is false.
// Threads   The worker's only thread.
// Lifetime  Views of a buffer that outlives them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace caisson::worker {

static_assert(std::endian::native == std::endian::little);

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void Put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void PutBytes(std::span<const std::uint8_t> bytes) {
    Put(static_cast<std::uint32_t>(bytes.size()));
    out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void PutText(std::string_view text) {
    Put(static_cast<std::uint32_t>(text.size()));
    out_.append(text);
  }

 private:
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> in) : in_(in) {}

  template <typename T>
    requires std::is_integral_v<T>
  T Get() {
    T value{};
    if (const auto bytes = Take(sizeof value); !bytes.empty()) {
      std::memcpy(&value, bytes.data(), sizeof value);
    }
    return value;
  }
  std::span<const std::uint8_t> GetBytes() { return Take(Get<std::uint32_t>()); }
  std::string_view GetText() {
    const auto bytes = GetBytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool AtEnd() const { return in_.empty(); }
  // The bytes that have not been read yet.
  std::span<const std::uint8_t> Rest() const { return in_; }

 private:
  std::span<const std::uint8_t> Take(std::size_t length) {
    if (!ok_ || length > in_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = in_.first(length);
    in_ = in_.subspan(length);
    return taken;
  }

  std::span<const std::uint8_t> in_;
  bool ok_ = true;
};

}  // namespace caisson::worker
