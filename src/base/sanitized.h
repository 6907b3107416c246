// kIsSanitized tells if this build uses a sanitizer, which has its own allocator and memory layout.
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
