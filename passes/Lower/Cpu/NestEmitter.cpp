#include "passes/Lower/Cpu/NestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

void NestEmitter::emit(Value begin, Value end) {
  kept.choose();
  scalars.wantAll();
  scalars.emitAvailable();
  loops.loop(begin, end, 1, {}, [&](Value iteration, Values) {
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
        auto saved = scalars.known;
        Value whole = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, outer.back(), number(full));
        auto branch = scf::IfOp::create(b, loc, whole, true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        laneBlock(start, plan.block);
        scalars.known = saved;
        b.setInsertionPointToStart(branch.elseBlock());
        laneBlock(number(full * plan.block), size % plan.block);
        scalars.known = saved;
      }
    }
    for (unsigned level = 0; level < dims; ++level)
      position.leave(plan.parallel[level]);
    return Values();
  });
}

void NestEmitter::enterParallel(unsigned level, Value index) {
  unsigned dim = plan.parallel[level];
  position.enter(dim, index);
  scalars.emitAvailable();
}

void NestEmitter::parallelLoops(unsigned level) {
  if (level < plan.parallel.size()) {
    loops.loop(number(0), number(nest.sizes[plan.parallel[level]]), 1, {}, [&](Value index, Values) {
      enterParallel(level, index);
      parallelLoops(level + 1);
      position.leave(plan.parallel[level]);
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
    loops.loop(number(0), number(full * plan.block), plan.block, {}, [&](Value start, Values) {
      laneBlock(start, plan.block);
      return Values();
    });
  else if (full == 1)
    laneBlock(number(0), plan.block);
  if (size % plan.block)
    laneBlock(number(full * plan.block), size % plan.block);
}

void NestEmitter::tile(Value start, unsigned count) {
  auto saved = scalars.known;
  position.indices[*plan.tileDim] = start;
  llvm::MapVector<Value, Values> transposed;
  for (auto [argument, access] : llvm::zip(nest.body().getArguments(), nest.inputs))
    if (plan.isTransposed(access))
      transposed[argument] = memory.loadTransposed(argument.getArgNumber(), count);
  for (unsigned at = 0; at < count; ++at) {
    scalars.known = saved;
    position.enter(*plan.tileDim, at ? Value(arith::AddIOp::create(b, loc, start, number(at))) : start);
    for (auto &[argument, vectors] : transposed)
      scalars.known[argument] = {vectors[at]};
    scalars.emitAvailable();
    row();
  }
  position.leave(*plan.tileDim);
  scalars.known = std::move(saved);
}

void NestEmitter::pair() {
  const unsigned dim = *plan.pairDim;
  const auto saved = scalars.known;
  SmallVector<Values> results[2]; // of each output, its copies
  for (unsigned at = 0; at < 2; ++at) {
    scalars.known = saved;
    position.enter(dim, number(at));
    scalars.emitAvailable();
    for (Value result : nest.yield().getOperands()) {
      Values &copies = results[at].emplace_back();
      for (unsigned copy = 0; copy < position.step.copies; ++copy)
        copies.push_back(scalars.at(result, copy));
    }
  }
  position.enter(dim, number(0));
  for (unsigned output = 0; output < nest.outputs.size(); ++output)
    memory.storePairs(output, results[0][output], results[1][output]);
  position.leave(dim);
  scalars.known = saved;
}

void NestEmitter::laneBlock(Value start, int64_t count) {
  if (plan.tileDim) {
    int64_t size = nest.sizes[*plan.tileDim], whole = size / plan.width * plan.width;
    auto tiles = [&](Value from, unsigned each) {
      loops.overLanes(start, count, {}, [&](Values) {
        tile(from, each);
        return Values();
      });
    };
    if (whole)
      loops.loop(number(0), number(whole), plan.width, {}, [&](Value from, Values) {
        tiles(from, plan.width);
        return Values();
      });
    if (size > whole)
      tiles(number(whole), size - whole);
    return;
  }
  loops.overLanes(start, count, {}, [&](Values) {
    plan.pairDim ? pair() : row();
    return Values();
  });
}

//===- One row ------------------------------------------------------------------------------------------===//

void NestEmitter::reductionPass(unsigned pass) {
  auto outside = std::exchange(scalars.wanted, {});
  reductions.begin(pass);
  scalars.emitAvailable();
  reductions.finish(loops.overReduced(reductions.identities(), [&](Values accumulators) {
    scalars.emitAvailable();
    if (pass + 1 == nest.passes)
      kept.keep();
    return reductions.accumulate(std::move(accumulators));
  }));
  scalars.wanted = std::move(outside);
}

void NestEmitter::store(unsigned output) {
  Value result = nest.yield().getOperand(output);
  memory.store(output, [&](unsigned copy) { return scalars.at(result, copy); });
}

void NestEmitter::pointPass() {
  SmallVector<unsigned> points;
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (nest.isPoint(output))
      points.push_back(number);
  if (points.empty())
    return;
  auto outside = std::exchange(scalars.wanted, {});
  kept.want();
  for (unsigned output : points)
    scalars.want(nest.yield().getOperand(output));
  loops.overReduced({}, [&](Values) {
    kept.restore();
    scalars.emitAvailable();
    for (unsigned output : points)
      store(output);
    return Values();
  });
  scalars.wanted = std::move(outside);
}

void NestEmitter::row() {
  for (unsigned pass = 0; pass < nest.passes; ++pass) {
    reductionPass(pass);
    scalars.emitAvailable();
  }
  pointPass();
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (!nest.isPoint(output))
      store(number);
}
