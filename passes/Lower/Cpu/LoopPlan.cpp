#include "passes/Lower/Cpu/LoopPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {

/// Partial results of a reduction along lanes: lane i takes elements i, i + 64, i + 128, ...
constexpr int64_t kPartials = 64;
/// Elements of a long elementwise loop that one iteration takes.
constexpr int64_t kBlock = 4096;

/// How many of the nest's points see an element of their own: near 0 for a vector of channels among images,
/// which another choice of lanes reads as one value for many points.
double shareOf(const ClusterNest &nest, const Access &access) {
  double share = 1;
  for (unsigned d = 0; d < nest.rank(); ++d)
    if (!access.dependsOn(d))
      share /= static_cast<double>(std::max<int64_t>(1, nest.sizes[d]));
  return share;
}

double scoreOf(const ClusterNest &nest, unsigned dim) {
  double score = 0;
  auto count = [&](const Access &access, double contiguous, double scattered) {
    if (!access.dependsOn(dim))
      return;
    score += access.linear && access.coefficients[dim] == 1 ? contiguous * shareOf(nest, access) : scattered;
  };
  for (const Access &input : nest.inputs)
    count(input, 4, -3);
  for (const Access &output : nest.outputs)
    count(output, 4, -6);
  double filled = std::min<int64_t>(nest.sizes[dim], 16) / 16.0;
  return score > 0 ? score * filled : score / filled;
}

/// Where much is computed for an element, lanes that are full are worth scattered stores: two codes a byte,
/// say, leave a contiguous dim of 2.
std::optional<unsigned> fullLanes(const ClusterNest &nest, unsigned best) {
  constexpr int64_t kFew = 4, kEnough = 16;
  if (nest.sizes[best] > kFew || nest.reductionCount() || nest.passes || nest.bodySize() <= 24)
    return std::nullopt;
  std::optional<unsigned> full;
  for (unsigned d = 0; d < nest.rank(); ++d)
    if (nest.sizes[d] >= kEnough && !nest.reduced[d] && (!full || scoreOf(nest, d) > scoreOf(nest, *full)))
      full = d;
  return full;
}

unsigned chooseLanes(const ClusterNest &nest) {
  unsigned best = nest.rank() - 1;
  for (unsigned d = nest.rank(); d-- > 0;)
    if (nest.sizes[d] > 1 && (nest.sizes[best] <= 1 || scoreOf(nest, d) > scoreOf(nest, best)))
      best = d;
  return fullLanes(nest, best).value_or(best);
}

unsigned chooseWidth(const ClusterNest &nest, int64_t size) {
  int64_t width = 16;
  sched::ClusterOp(nest.op).getBody().walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (type.isF64())
        width = 8;
  });
  return std::min<int64_t>(width, llvm::PowerOf2Ceil(std::max<int64_t>(size, 1)));
}

unsigned chooseCopies(const ClusterNest &nest, const LoopPlan &plan) {
  int64_t size = nest.sizes[plan.lanesDim];
  unsigned reductions = nest.reductionCount();
  int64_t copies = 4;
  if (plan.lanesReduced)
    copies = kPartials / plan.width;
  else if (reductions)
    copies = reductions <= 2 ? 4 : 2;
  else if (nest.bodySize() > 24 && nest.body().getOps<sched::RandomOp>().empty())
    copies = nest.bodySize() > 80 ? 1 : 2;
  return std::clamp<int64_t>(llvm::divideCeil(size, plan.width), 1, copies);
}

std::optional<unsigned> chooseTile(const ClusterNest &nest, const LoopPlan &plan) {
  if (nest.passes || plan.width < 16)
    return std::nullopt;
  for (const Access &input : nest.inputs) {
    if (!input.linear || input.coefficients[plan.lanesDim] <= 1 || input.element.getIntOrFloatBitWidth() > 32)
      continue;
    for (unsigned d = 0; d < nest.rank(); ++d)
      if (input.coefficients[d] == 1 && nest.sizes[d] >= plan.width / 2)
        return d;
  }
  return std::nullopt;
}

std::optional<unsigned> choosePair(const ClusterNest &nest, const LoopPlan &plan) {
  if (plan.tileDim || plan.lanesReduced || nest.passes || plan.width < 16 ||
      nest.sizes[plan.lanesDim] % plan.width != 0)
    return std::nullopt;
  for (unsigned d = 0; d < nest.rank(); ++d) {
    auto isPair = [&](const Access &output) {
      return output.linear && output.coefficients[d] == 1 && output.coefficients[plan.lanesDim] == 2;
    };
    if (nest.sizes[d] == 2 && !nest.reduced[d] && llvm::all_of(nest.outputs, isPair))
      return d;
  }
  return std::nullopt;
}

} // namespace

bool LoopPlan::isTransposed(const Access &input) const {
  return tileDim && input.linear && input.coefficients[*tileDim] == 1 && input.coefficients[lanesDim] > 1 &&
         input.element.getIntOrFloatBitWidth() <= 32;
}

int64_t LoopPlan::blocks(const ClusterNest &nest) const {
  return llvm::divideCeil(nest.sizes[lanesDim], std::max<int64_t>(block, 1));
}

LoopPlan LoopPlan::of(const ClusterNest &nest) {
  LoopPlan plan;
  plan.lanesDim = chooseLanes(nest);
  plan.lanesReduced = nest.reduced[plan.lanesDim];
  int64_t size = nest.sizes[plan.lanesDim];
  plan.width = chooseWidth(nest, size);
  plan.tileDim = chooseTile(nest, plan);
  plan.pairDim = choosePair(nest, plan);
  plan.copies = plan.tileDim ? 1 : chooseCopies(nest, plan);
  int64_t work = 1;
  for (unsigned d = 0; d < nest.rank(); ++d) {
    work *= nest.sizes[d];
    if (d != plan.lanesDim && d != plan.tileDim && d != plan.pairDim)
      (nest.reduced[d] ? plan.reduced : plan.parallel).push_back(d);
  }
  SmallVector<int64_t> loops;
  for (unsigned d : plan.parallel)
    loops.push_back(nest.sizes[d]);
  if (!plan.lanesReduced) {
    if (plan.tileDim)
      plan.block = 4 * plan.width;
    else if (nest.passes)
      plan.block = plan.width * plan.copies;
    else
      plan.block = size <= 2 * kBlock ? std::max<int64_t>(size, 1) : kBlock;
    loops.push_back(plan.blocks(nest));
  }
  // Outer loops join the iteration space until there is enough to share and a piece is not too large.
  for (int64_t count : loops) {
    int64_t inner = work / std::max<int64_t>(plan.iterations, 1);
    if (plan.iterations >= 64 && inner <= 65536)
      break;
    plan.iterations *= count;
    ++plan.outer;
  }
  int64_t cost = work / std::max<int64_t>(plan.iterations, 1) * (8 + nest.bodySize()) / 16;
  plan.grain =
      std::clamp<int64_t>(32768 / std::max<int64_t>(cost, 1), 1, std::max<int64_t>(plan.iterations, 1));
  return plan;
}
