// Whether this is built with a sanitizer, which brings an allocator and memory of its own.
//
// Trust     A constant.
// Threads   Any.
// Lifetime  Static.
#pragma once

namespace caisson {

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace caisson
