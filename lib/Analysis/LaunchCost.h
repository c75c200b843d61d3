// The work of one op of the schedule (level 3), and the time a device model gives it.
#pragma once
#include "lib/Analysis/DeviceModel.h"
#include "mlir/IR/Operation.h"

namespace kedge::analysis {

/// What kind of work a launch does; this decides which rate of the device applies.
/// Transfer: copies between device and host. Collective: between ranks. Vector: generated kernels.
/// Moving: library kernels that copy. Irregular: element by element, through windows or indices.
enum class WorkKind { None, Transfer, Collective, Vector, Moving, Irregular, Matmul, Convolution, Attention };
/// Type of a product's operands.
enum class MatmulType { F64, F32, BF16, F16, F8 };

struct LaunchCost {
  WorkKind kind = WorkKind::None; ///< None: nothing is launched (views, constants)
  MatmulType type = MatmulType::F32;
  double flops = 0;            ///< a multiply-add counts 2
  double specialFunctions = 0; ///< exp, log, tanh, erf, reductions..., in evaluations of exp
  double bytesRead =
      0; ///< each element of each distinct operand once; for a collective, the bytes a rank sends
  double bytesWritten = 0;
  double bytesUpdated = 0; ///< the part of those written that overwrites old values of states
  double extent = 0;       ///< rt::calls::CallWork::extent
  double shortcut = 1;     ///< rt::calls::CallWork::shortcut
  bool onDisk = false;     ///< of a copy: host memory there is a file
  double repeatedFlops =
      0; ///< FLOPs of 16-bit attention that GPUs compute twice, so that each sum has one owner
  // Of a collective: the ranks of the first group, by number, and how often its bytes go around.
  std::vector<int64_t> members = {};
  int rounds = 1;
  bool toEach = false; ///< CollectiveWork::toEach

  bool product() const { return kind > WorkKind::Irregular; }
  double bytes() const { return bytesRead + bytesWritten; }
};

/// The work of a launch (sched::isLaunch); zero for any other op. A call without a kernel
/// in the runtime counts its bytes only; kedge-plan-memory reports such calls as errors.
LaunchCost costOf(mlir::Operation *launch);

/// The cost of copying so many bytes to the host's memory, or to a file, or back.
LaunchCost transferCost(int64_t bytes, bool onDisk = false);

/// Roofline model: the larger of the time to compute and the time to move bytes, plus the launch itself. In
/// seconds.
double secondsOf(const LaunchCost &cost, const DeviceModel &device);

} // namespace kedge::analysis
