#include "lib/Analysis/LaunchCost.h"
#include "kedge/Dialect/Dist/CollectiveCall.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/RoutingOps.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Interfaces/LinkedKernelOpInterface.h"
#include "lib/Analysis/ClusterCost.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/RankMesh.h"
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <numeric>

using namespace mlir;

namespace kedge::analysis {
namespace {

/// A call whose operands do not fit each other counts as a copy of them. Memory planning, which needs its
/// kernel, reports the error with its place in the model.
rt::calls::CallWork workOrCopy(const rt::calls::LibraryCall &call) {
  try {
    return rt::calls::workOf(call);
  } catch (const rt::RuntimeError &) {
    return {};
  }
}

double bytesOf(ValueRange tensors) {
  llvm::SmallPtrSet<void *, 8> seen;
  double bytes = 0;
  for (Value value : tensors)
    if (seen.insert(value.getAsOpaquePointer()).second)
      bytes += static_cast<double>(kedge::bytesOf(value.getType()));
  return bytes;
}

WorkKind kindOf(rt::calls::CallWork::Kind kind) {
  switch (kind) {
  case rt::calls::CallWork::Kind::Matmul:
    return WorkKind::Matmul;
  case rt::calls::CallWork::Kind::Convolution:
    return WorkKind::Convolution;
  case rt::calls::CallWork::Kind::Attention:
    return WorkKind::Attention;
  case rt::calls::CallWork::Kind::Irregular:
    return WorkKind::Irregular;
  case rt::calls::CallWork::Kind::Vector:
    break;
  }
  return WorkKind::Moving;
}

MatmulType productType(ValueRange inputs) {
  Type element = inputs.empty() ? Type() : cast<RankedTensorType>(inputs[0].getType()).getElementType();
  if (!element)
    return MatmulType::F32;
  return element.isF64()                                  ? MatmulType::F64
         : element.isBF16()                               ? MatmulType::BF16
         : element.isF16()                                ? MatmulType::F16
         : isa<Float8E4M3FNType, Float8E5M2Type>(element) ? MatmulType::F8
                                                          : MatmulType::F32;
}

/// Who takes part; without a mesh that has the axis, ranks that follow each other.
std::vector<int64_t> membersOf(sched::LibraryOp op, int64_t ranks) {
  const std::string axis = dist::collectiveCallOf(op.getAttrs()).axis.str();
  if (dist::MeshAttr mesh = dist::meshOf(op); mesh && mesh.sizeOf(axis) == ranks) {
    return rankMesh(mesh).groupOf(axis, 0).members;
  }
  std::vector<int64_t> members(static_cast<size_t>(ranks));
  std::iota(members.begin(), members.end(), int64_t(0));
  return members;
}

/// Over a ring each rank sends all but its own part of what is counted (an all-reduce counts twice: it goes
/// around twice), and receives as much. Nothing when nothing is sent.
LaunchCost costOfCollective(sched::LibraryOp op) {
  const rt::calls::LibraryCall call = libraryCallOf(op);
  const int64_t ranks = dist::collectiveCallOf(op.getAttrs()).ranks;
  const double others = ranks > 0 ? 1 - 1 / static_cast<double>(ranks) : 0;
  LaunchCost cost;
  if (ranks > 0 && op.calls<dist::AllReduceOp>())
    cost.rounds = 2;
  cost.toEach = op.callsAny<dist::DispatchOp, dist::CombineOp>();
  // All wait for the rank to which, or from which, the most rows go.
  const auto expected = op.getAttrs().getAs<IntegerAttr>("expected");
  const double busiest = cost.toEach && expected
                             ? std::max(1.0, static_cast<double>(expected.getInt()) /
                                                 static_cast<double>(call.inputs[1].elements()))
                             : 1;
  for (const rt::Traffic &traffic : rt::trafficOf(call.name, call.inputs, call.outputs)) {
    cost.kind = WorkKind::Collective;
    cost.bytesRead += others * busiest * static_cast<double>(traffic.elements) *
                      static_cast<double>(rt::dtypeSize(traffic.type));
  }
  cost.bytesWritten = cost.bytesRead;
  if (ranks > 0 && cost.kind == WorkKind::Collective)
    cost.members = membersOf(op, ranks);
  return cost;
}

LaunchCost costOfLibrary(sched::LibraryOp op) {
  if (LaunchCost sent = costOfCollective(op); sent.kind == WorkKind::Collective)
    return sent;
  rt::calls::CallWork work = workOrCopy(libraryCallOf(op));
  LaunchCost cost;
  cost.kind = kindOf(work.kind);
  cost.type = productType(op.getInputs());
  cost.flops = work.flops;
  if (auto *linked = linkedKernelOf(op.getContext(), op.getKernel()))
    cost.flops = linked->kernelFlops(op.getAttrs(), op.getInputs().getTypes(), op.getOutputs().getTypes());
  if (auto *facts = op.callFacts())
    cost.repeatedFlops = work.flops * facts->repeatedShare();
  cost.specialFunctions = work.specialFunctions;
  cost.extent = work.extent;
  cost.shortcut = work.shortcut;
  cost.bytesRead = work.bytesRead.value_or(bytesOf(op.getInputs()));
  cost.bytesWritten = work.bytesWritten.value_or(bytesOf(op.getOutputs()));
  return cost;
}

/// Half at x = `half`, nearing 1.
double saturation(double x, double half) { return x / (x + half); }

/// Attention and convolutions of 16 bits on a GPU, which are generated kernels. Of f32 they are
/// multiply-adds.
bool runsOnTensorCores(const LaunchCost &cost, const DeviceModel &device) {
  constexpr double kFewChannels = 4; // would leave most of a tile of tensor cores empty
  bool isHalf = cost.type == MatmulType::BF16 || cost.type == MatmulType::F16;
  bool isGenerated =
      cost.kind == WorkKind::Attention || (cost.kind == WorkKind::Convolution && cost.extent > kFewChannels);
  return isGenerated && isHalf && !device.isProcessor();
}

/// Generated kernels widen what tensor cores do not take.
bool widensForMatmuls(const LaunchCost &cost, const DeviceModel &device) {
  return cost.kind == WorkKind::Convolution && cost.type != MatmulType::F64 && !device.isProcessor() &&
         !runsOnTensorCores(cost, device);
}

/// FLOPs per second.
double rateOf(const LaunchCost &cost, const DeviceModel &device) {
  if (cost.kind == WorkKind::Irregular)
    return device.irregularFlops;
  if (cost.kind == WorkKind::Vector || cost.kind == WorkKind::Moving)
    return device.vectorFlops;
  double peak = device.fp32Flops;
  if (cost.type == MatmulType::F64)
    peak = device.fp64Flops;
  else if (widensForMatmuls(cost, device))
    peak = device.fp32Flops;
  else if (cost.type == MatmulType::BF16)
    peak = device.bf16Flops;
  else if (cost.type == MatmulType::F16)
    peak = device.fp16Flops;
  else if (cost.type == MatmulType::F8) // twice bf16's on every GPU that has it; processors widen to bf16
    peak = device.isProcessor() ? device.bf16Flops : 2 * device.bf16Flops;
  const bool isHalf =
      runsOnTensorCores(cost, device) || (device.isProcessor() && cost.type == MatmulType::BF16);
  if (cost.kind == WorkKind::Attention)
    return peak * (isHalf ? device.narrowAttentionEfficiency : device.attentionEfficiency) *
           saturation(cost.extent, device.attentionHalfKeys);
  peak *= saturation(cost.flops, device.halfRateFlops);
  if (cost.kind == WorkKind::Convolution && runsOnTensorCores(cost, device))
    peak *= device.narrowAttentionEfficiency; // what kernels of mma.sync reach
  if (cost.kind == WorkKind::Convolution)
    return peak * device.convolutionEfficiency * saturation(cost.extent, device.convolutionHalfChannels) *
           (device.isProcessor() ? cost.shortcut : 1);
  return peak * device.matmulEfficiency;
}

double movingSeconds(const LaunchCost &cost, const DeviceModel &device) {
  double bytes = (cost.bytes() - (1 - device.updateWeight) * cost.bytesUpdated) /
                 (cost.kind == WorkKind::Moving ? device.copyEfficiency : 1);
  double cached = std::min(bytes, device.cacheBytes);
  return cached / device.cacheBytesPerSecond +
         (bytes - cached) / (device.bytesPerSecond * device.memoryEfficiency);
}

} // namespace

LaunchCost transferCost(int64_t bytes, bool onDisk) {
  LaunchCost cost;
  cost.onDisk = onDisk;
  cost.kind = WorkKind::Transfer;
  cost.bytesRead = cost.bytesWritten = static_cast<double>(bytes);
  return cost;
}

LaunchCost costOf(Operation *launch) {
  if (auto cluster = dyn_cast<sched::ClusterOp>(launch))
    return costOfCluster(cluster);
  if (auto library = dyn_cast<sched::LibraryOp>(launch))
    return costOfLibrary(library);
  if (auto offload = dyn_cast<sched::OffloadOp>(launch))
    return transferCost(sched::bytesOf(offload.getResult().getType()), offload.getDisk());
  if (auto fetch = dyn_cast<sched::FetchOp>(launch))
    return transferCost(sched::bytesOf(fetch.getResult().getType()), fetch.getDisk());
  return {};
}

double secondsOf(const LaunchCost &cost, const DeviceModel &device) {
  if (cost.kind == WorkKind::None)
    return 0;
  if (cost.kind == WorkKind::Transfer)
    return device.launchSeconds +
           cost.bytesRead / (cost.onDisk ? device.diskBytesPerSecond : device.hostBytesPerSecond);
  if (cost.kind == WorkKind::Collective && !device.links.empty())
    return collectiveSeconds({cost.members, cost.rounds, cost.bytesRead, cost.toEach}, device.links);
  if (cost.kind == WorkKind::Collective)
    return device.linkSeconds + cost.bytesRead / (device.linkBytesPerSecond * device.linkEfficiency);
  // Attention's rate was measured with its exponentials.
  double computing = cost.kind == WorkKind::Attention ? 0 : cost.specialFunctions / device.specialFunctions;
  if (cost.flops > 0)
    computing +=
        (cost.flops + (runsOnTensorCores(cost, device) ? cost.repeatedFlops : 0)) / rateOf(cost, device);
  double together = std::max(computing, movingSeconds(cost, device));
  return device.launchSeconds + std::min(together * device.team, together + device.teamSeconds);
}

} // namespace kedge::analysis
