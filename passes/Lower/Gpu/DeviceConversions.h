// Conversions of bf16 and 8-bit floats in kernels -> instructions of the device, or integers.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace kedge::lower::gpu {

/// What a device rounds by itself; where it does not, integers do (ScalarOps).
struct DeviceRounding {
  bool brain = false;  ///< cvt.rn.bf16x2.f32
  bool float8 = false; ///< cvt.rn.satfinite.e4m3x2.f32 and .e5m2x2.f32
};

/// Expands arith.truncf of f32 to bf16 and to 8-bit floats, and arith.extf of these. A NaN that the device
/// rounds has all bits but its sign's.
void lowerConversions(mlir::gpu::GPUModuleOp kernels, DeviceRounding device);

} // namespace kedge::lower::gpu
