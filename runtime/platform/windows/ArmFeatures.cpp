#include "runtime/platform/ArmFeatures.h"

namespace kedge::rt::platform {

ArmFeatures armFeatures() { return {}; } // programs for Windows are for x86-64

} // namespace kedge::rt::platform
