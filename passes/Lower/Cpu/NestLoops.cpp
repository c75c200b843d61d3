#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lower/Cpu/NestEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {
/// Longest run that one accumulator sums, in steps. Longer sums are of chunks: the error of a sum grows with the length
/// of the longest chain of additions, which is least where a chunk is as long as there are chunks.
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

NestEmitter::Values NestEmitter::loop(Value from, Value to, int64_t step, Values accumulators,
                                      llvm::function_ref<Values(Value, Values)> body) {
  auto saved = env;
  auto loop = scf::ForOp::create(b, loc, from, to, number(step), accumulators,
                                 [&](OpBuilder &, Location, Value index, ValueRange inner) {
    scf::YieldOp::create(b, loc, body(index, Values(inner)));
  });
  env = std::move(saved);
  return Values(loop.getResults());
}

NestEmitter::Values NestEmitter::chunkedLoop(Value from, int64_t count, int64_t step, Values accumulators,
                                             llvm::function_ref<Values(Value, Values)> body) {
  auto offset = [&](int64_t steps) -> Value {
    return steps == 0 ? from : Value(arith::AddIOp::create(b, loc, from, number(steps * step)));
  };
  if (count == 0)
    return accumulators;
  if (accumulators.empty() || count <= kLongestRun)
    return loop(from, offset(count), step, accumulators, body);
  auto chunk = [&](Value start, Value end, Values outer) {
    return combine(outer, loop(start, end, step, identities(), body));
  };
  int64_t each = chunkOf(count), whole = count / each * each;
  accumulators = loop(from, offset(whole), each * step, accumulators, [&](Value start, Values outer) {
    return chunk(start, arith::AddIOp::create(b, loc, start, number(each * step)), outer);
  });
  return whole == count ? accumulators : chunk(offset(whole), offset(count), accumulators);
}

void NestEmitter::emit(Value begin, Value end) {
  for (Value output : nest.yield().getOperands())
    want(output);
  for (auto fold : nest.body().getOps<sched::ReduceOp>())
    want(fold.getInput());
  emitAvailable();
  loop(begin, end, 1, {}, [&](Value iteration, Values) {
    // Row-major over the outer loops: the last one runs fastest.
    SmallVector<Value> outer(plan.outer);
    for (unsigned level = plan.outer; level-- > 0;) {
      if (level == 0) {
        outer[0] = iteration;
        break;
      }
      int64_t size = level < plan.parallel.size() ? nest.sizes[plan.parallel[level]] : plan.blocks(nest);
      outer[level] = arith::RemUIOp::create(b, loc, iteration, number(size));
      iteration = arith::DivUIOp::create(b, loc, iteration, number(size));
    }
    unsigned dims = std::min<unsigned>(plan.outer, plan.parallel.size());
    for (unsigned level = 0; level < dims; ++level)
      enterParallel(level, outer[level]);
    if (plan.outer <= plan.parallel.size()) {
      parallelLoops(plan.outer);
    } else {
      int64_t size = nest.sizes[plan.lanesDim], full = size / plan.block;
      Value start = arith::MulIOp::create(b, loc, outer.back(), number(plan.block));
      if (full == 0 || size % plan.block == 0) {
        laneBlock(start, full ? plan.block : size);
      } else {
        auto saved = env;
        Value whole = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, outer.back(), number(full));
        auto branch = scf::IfOp::create(b, loc, whole, true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        laneBlock(start, plan.block);
        env = saved;
        b.setInsertionPointToStart(branch.elseBlock());
        laneBlock(number(full * plan.block), size % plan.block);
        env = saved;
      }
    }
    for (unsigned level = 0; level < dims; ++level)
      entered.reset(plan.parallel[level]);
    return Values();
  });
}

void NestEmitter::enterParallel(unsigned level, Value index) {
  unsigned dim = plan.parallel[level];
  indices[dim] = index;
  entered.set(dim);
  emitAvailable();
}

void NestEmitter::parallelLoops(unsigned level) {
  if (level < plan.parallel.size()) {
    loop(number(0), number(nest.sizes[plan.parallel[level]]), 1, {}, [&](Value index, Values) {
      enterParallel(level, index);
      parallelLoops(level + 1);
      entered.reset(plan.parallel[level]);
      return Values();
    });
    return;
  }
  if (plan.lanesReduced) {
    row();
    return;
  }
  int64_t size = nest.sizes[plan.lanesDim], full = size / plan.block;
  if (full > 1)
    loop(number(0), number(full * plan.block), plan.block, {}, [&](Value start, Values) {
      laneBlock(start, plan.block);
      return Values();
    });
  else if (full == 1)
    laneBlock(number(0), plan.block);
  if (size % plan.block)
    laneBlock(number(full * plan.block), size % plan.block);
}

void NestEmitter::tile(Value start, unsigned count) {
  auto saved = env;
  indices[*plan.tileDim] = start;
  for (auto [argument, access] : llvm::zip(nest.body().getArguments(), nest.inputs))
    if (plan.isTransposed(access))
      transposed[argument] = loadTransposed(access, pointers[argument.getArgNumber()], count);
  entered.set(*plan.tileDim);
  for (unsigned at = 0; at < count; ++at) {
    env = saved;
    indices[*plan.tileDim] = at ? Value(arith::AddIOp::create(b, loc, start, number(at))) : start;
    for (auto &[argument, vectors] : transposed)
      env[argument] = {vectors[at]};
    emitAvailable();
    row();
  }
  entered.reset(*plan.tileDim);
  transposed.clear();
  env = std::move(saved);
}

void NestEmitter::laneBlock(Value start, int64_t count) {
  if (plan.tileDim) {
    int64_t size = nest.sizes[*plan.tileDim], whole = size / plan.width * plan.width;
    auto tiles = [&](Value from, unsigned each) {
      laneSteps(start, count, {}, [&](Values) {
        tile(from, each);
        return Values();
      });
    };
    if (whole)
      loop(number(0), number(whole), plan.width, {}, [&](Value from, Values) {
        tiles(from, plan.width);
        return Values();
      });
    if (size > whole)
      tiles(number(whole), size - whole);
    return;
  }
  laneSteps(start, count, {}, [&](Values) {
    row();
    return Values();
  });
}

NestEmitter::Values NestEmitter::laneSteps(Value start, int64_t count, Values accumulators, Leaf leaf) {
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

NestEmitter::Values NestEmitter::inStep(const LaneStep &current, Values accumulators, Leaf leaf) {
  auto saved = env;
  step = current;
  indices[plan.lanesDim] = current.base;
  entered.set(plan.lanesDim);
  emitAvailable();
  Values result = leaf(std::move(accumulators));
  entered.reset(plan.lanesDim);
  env = std::move(saved);
  return result;
}

int64_t NestEmitter::stepsBelow(unsigned level) const {
  int64_t steps = 1;
  for (unsigned at = level; at < plan.reduced.size(); ++at)
    steps *= nest.sizes[plan.reduced[at]];
  if (plan.lanesReduced)
    steps *= llvm::divideCeil(nest.sizes[plan.lanesDim], int64_t(plan.width) * plan.copies);
  return steps;
}

NestEmitter::Values NestEmitter::reducedLoops(unsigned level, Values accumulators, Leaf leaf) {
  if (level == plan.reduced.size())
    return plan.lanesReduced ? laneSteps(number(0), nest.sizes[plan.lanesDim], accumulators, leaf)
                             : leaf(accumulators);
  unsigned dim = plan.reduced[level];
  bool own = !accumulators.empty() && level + 1 < plan.reduced.size() + plan.lanesReduced &&
             stepsBelow(level + 1) >= kOwnAccumulators;
  return chunkedLoop(number(0), nest.sizes[dim], 1, accumulators, [&](Value index, Values outer) {
    indices[dim] = index;
    entered.set(dim);
    emitAvailable();
    Values inner = own ? combine(outer, reducedLoops(level + 1, identities(), leaf))
                       : reducedLoops(level + 1, outer, leaf);
    entered.reset(dim);
    return inner;
  });
}
