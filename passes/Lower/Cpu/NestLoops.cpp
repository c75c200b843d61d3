#include "passes/Lower/Cpu/NestLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {
/// Longest run that one accumulator sums, in steps. Longer sums are of chunks: the error of a sum grows with
/// the length of the longest chain of additions, which is least where a chunk is as long as there are chunks.
constexpr int64_t kLongestRun = 16;
/// Inner loops of this many steps have accumulators of their own.
constexpr int64_t kOwnAccumulators = 8;

int64_t chunkOf(int64_t count) {
  int64_t chunk = kLongestRun;
  while (chunk * chunk < count)
    chunk *= 2;
  return chunk;
}
} // namespace

NestLoops::Values NestLoops::loop(Value from, Value to, int64_t step, Values accumulators, Body body) {
  auto saved = scalars.known;
  auto loop = scf::ForOp::create(b, loc, from, to, number(step), accumulators,
                                 [&](OpBuilder &, Location, Value index, ValueRange inner) {
                                   scf::YieldOp::create(b, loc, body(index, Values(inner)));
                                 });
  scalars.known = std::move(saved);
  return Values(loop.getResults());
}

NestLoops::Values NestLoops::chunkedLoop(Value from, int64_t count, int64_t step, Values accumulators,
                                         Body body) {
  auto offset = [&](int64_t steps) -> Value {
    return steps == 0 ? from : Value(arith::AddIOp::create(b, loc, from, number(steps * step)));
  };
  if (count == 0)
    return accumulators;
  if (accumulators.empty() || count <= kLongestRun)
    return loop(from, offset(count), step, accumulators, body);
  auto chunk = [&](Value start, Value end, Values outer) {
    return reductions.combine(outer, loop(start, end, step, reductions.identities(), body));
  };
  int64_t each = chunkOf(count), whole = count / each * each;
  accumulators = loop(from, offset(whole), each * step, accumulators, [&](Value start, Values outer) {
    return chunk(start, arith::AddIOp::create(b, loc, start, number(each * step)), outer);
  });
  return whole == count ? accumulators : chunk(offset(whole), offset(count), accumulators);
}

NestLoops::Values NestLoops::overLanes(Value start, int64_t count, Values accumulators, Leaf leaf) {
  int64_t stride = int64_t(plan.width) * plan.copies, full = count / stride, rest = count % stride;
  auto whole = [&](Value base, Values values) {
    return inStep({base, plan.copies, plan.width}, std::move(values), leaf);
  };
  if (full == 1)
    accumulators = whole(start, accumulators);
  else if (full > 1)
    accumulators = chunkedLoop(start, full, stride, accumulators, whole);
  if (rest == 0)
    return accumulators;
  Value base = full == 0 ? start : Value(arith::AddIOp::create(b, loc, start, number(full * stride)));
  unsigned copies = llvm::divideCeil(rest, plan.width);
  return inStep({base, copies, unsigned(rest - (copies - 1) * plan.width)}, accumulators, leaf);
}

NestLoops::Values NestLoops::inStep(const LaneStep &current, Values accumulators, Leaf leaf) {
  auto saved = scalars.known;
  position.step = current;
  position.enter(plan.lanesDim, current.base);
  scalars.emitAvailable();
  Values result = leaf(std::move(accumulators));
  position.leave(plan.lanesDim);
  scalars.known = std::move(saved);
  return result;
}

int64_t NestLoops::stepsBelow(unsigned level) const {
  int64_t steps = 1;
  for (unsigned at = level; at < plan.reduced.size(); ++at)
    steps *= nest.sizes[plan.reduced[at]];
  if (plan.lanesReduced)
    steps *= llvm::divideCeil(nest.sizes[plan.lanesDim], int64_t(plan.width) * plan.copies);
  return steps;
}

NestLoops::Values NestLoops::reducedLoops(unsigned level, Values accumulators, Leaf leaf) {
  if (level == plan.reduced.size())
    return plan.lanesReduced ? overLanes(number(0), nest.sizes[plan.lanesDim], accumulators, leaf)
                             : leaf(accumulators);
  unsigned dim = plan.reduced[level];
  bool own = !accumulators.empty() && level + 1 < plan.reduced.size() + plan.lanesReduced &&
             stepsBelow(level + 1) >= kOwnAccumulators;
  return chunkedLoop(number(0), nest.sizes[dim], 1, accumulators, [&](Value index, Values outer) {
    position.enter(dim, index);
    scalars.emitAvailable();
    Values inner = own ? reductions.combine(outer, reducedLoops(level + 1, reductions.identities(), leaf))
                       : reducedLoops(level + 1, outer, leaf);
    position.leave(dim);
    return inner;
  });
}
