// What a 64-bit Arm processor has, as its system tells.
#pragma once

namespace kedge::rt::platform {

struct ArmFeatures {
  bool dot = false;    ///< dot products of 8-bit integers (FEAT_DotProd)
  bool bf16 = false;   ///< products of bf16 (FEAT_BF16)
  int vectorBytes = 0; ///< of SVE; 0: the processor has none
};
/// Nothing on another processor.
ArmFeatures armFeatures();

} // namespace kedge::rt::platform
