#include "runtime/platform/ArmFeatures.h"
#include <sys/sysctl.h>

namespace kedge::rt::platform {
namespace {

/// Names that a system does not know, as those of other processors, are features that it does not have.
bool has(const char *name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

} // namespace

ArmFeatures armFeatures() {
  ArmFeatures f;
  f.dot = has("hw.optional.arm.FEAT_DotProd");
  f.bf16 = has("hw.optional.arm.FEAT_BF16");
  return f;
}

} // namespace kedge::rt::platform
