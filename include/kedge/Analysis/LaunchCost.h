// The work of one op of the schedule (level 3), and the time a device model gives it.
#pragma once
#include "kedge/Analysis/DeviceModel.h"
#include "mlir/IR/Operation.h"

namespace kedge::analysis {

/// How a launch's FLOPs run: this picks the rate.
/// Transfer: between the device's memory and the host's. Collective: between ranks. Vector: generated kernels. Moving: library kernels that copy. Irregular: element by element through windows or
/// indices.
enum class WorkKind { None, Transfer, Collective, Vector, Moving, Irregular, Product, Convolution, Attention };
/// Type of a product's operands.
enum class ProductType { F64, F32, BF16, F16, F8 };

struct LaunchCost {
  WorkKind kind = WorkKind::None; ///< None: nothing is launched (views, constants)
  ProductType type = ProductType::F32;
  double flops = 0;            ///< a multiply-add counts 2
  double specialFunctions = 0; ///< exp, log, tanh, erf, folds..., in evaluations of exp
  double bytesRead = 0;        ///< every element of every distinct operand that is read, once; of a collective what a rank sends
  double bytesWritten = 0;
  double bytesUpdated = 0; ///< of those written: new values of states, which take the place of the old ones
  double extent = 0; ///< rt::KernelWork::extent
  double repeatedFlops = 0; ///< of those of 16-bit attention what GPUs compute twice, so that each sum has one owner

  bool product() const { return kind > WorkKind::Irregular; }
  double bytes() const { return bytesRead + bytesWritten; }
};

/// Work of a launch (sched::isLaunch); nothing for any other op. A call that the runtime has no kernel
/// for counts its bytes only: kedge-plan-memory reports it.
LaunchCost costOf(mlir::Operation *launch);

/// A copy of so many bytes to the host's memory or back.
LaunchCost transferCost(int64_t bytes);

/// Roofline: the longer of computing and moving, and the launch itself. Seconds; 0 when nothing is launched.
double secondsOf(const LaunchCost &cost, const DeviceModel &device);

} // namespace kedge::analysis
