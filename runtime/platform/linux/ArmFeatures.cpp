#include "runtime/platform/ArmFeatures.h"
#if defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace kedge::rt::platform {

#if defined(__aarch64__)
ArmFeatures armFeatures() {
  // As Linux names them in its headers, which may be older than the processor.
  constexpr unsigned long kDot = 1ul << 20, kSve = 1ul << 22, kBf16 = 1ul << 14; // of AT_HWCAP; AT_HWCAP2
  constexpr int kGetVectorLength = 51, kLengthMask = 0xffff;
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  ArmFeatures f;
  f.dot = first & kDot;
  f.bf16 = second & kBf16;
  f.vectorBytes = first & kSve ? prctl(kGetVectorLength) & kLengthMask : 0;
  return f;
}
#else
ArmFeatures armFeatures() { return {}; }
#endif

} // namespace kedge::rt::platform
