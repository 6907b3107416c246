// The other side of a ring writes anything anywhere, at any time: none of our reads or writes may
// leave the ring, and our own positions do not change.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "wire/ring.h"

namespace {

using namespace caisson::wire;  // NOLINT(google-build-using-namespace): a fuzz target.

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  template <typename T>
  T Take() {
    T value{};
    const std::size_t n = size_ < sizeof value ? size_ : sizeof value;
    std::memcpy(&value, data_, n);
    data_ += n;
    size_ -= n;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kBytes = 2 * kMaxFramePayload;
  static std::vector<std::uint8_t> bytes(kBytes);
  static const std::string payload(kMaxFramePayload + 1, 'p');
  std::memset(bytes.data(), 0, kBytes);
  RingHeader header{};
  RingWriter writer(header, bytes);
  RingReader reader(header, bytes);
  Input input(data, size);
  while (!input.empty()) {
    switch (input.Take<std::uint8_t>() % 8) {
      case 0:
        header.tail.store(input.Take<std::uint32_t>());
        break;
      case 1:
        header.head.store(input.Take<std::uint32_t>());
        break;
      case 2:
        header.tail.fetch_add(input.Take<std::uint8_t>() * 8u);
        break;
      case 3: {
        const FrameHeader frame{input.Take<std::uint32_t>(), input.Take<std::uint16_t>(),
                                input.Take<std::uint16_t>(), 0};
        const std::size_t at = reader.position() % kBytes;
        std::memcpy(bytes.data() + at, &frame, std::min(sizeof frame, kBytes - at));
        break;
      }
      case 4: {
        const std::size_t length = input.Take<std::uint32_t>() % payload.size();
        const std::size_t split = length == 0 ? 0 : input.Take<std::uint16_t>() % length;
        (void)writer
            .Write(1, 0, 2, std::string_view(payload).substr(0, split),
                   std::string_view(payload).substr(0, length - split))
            .has_value();
        break;
      }
      case 5:
        bytes[input.Take<std::uint32_t>() % kBytes] = input.Take<std::uint8_t>();
        break;
      case 6:
        (void)reader.TakeWriterWaits();
        break;
      default: {
        auto frame = reader.Next();
        if (frame && frame->has_value() && (*frame)->payload.size() > kMaxFramePayload)
          std::abort();
        break;
      }
    }
  }
  return 0;
}
