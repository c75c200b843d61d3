// train.attention_grad: weights are computed again from LSE, block by block. One kernel owns keys and walks
// over queries (dK, dV), one owns queries and walks over keys (dQ): every sum has one owner and one order.
// Before them delta = sum dO O of every query.
#include "passes/Lower/Gpu/library/Attention.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "passes/Lower/Gpu/library/HalfAttention.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::lower::gpu::attention;

namespace {

/// Numbers of the operands in the lists of both kernels.
enum Slot { kGradient, kQuery, kKey, kValue, kLse, kDelta, kResults };

struct Backward {
  AttentionShape shape;
  HeadView gradientView;
  int64_t depth, valueDepth; ///< padded

  int64_t mostDepth() const { return std::max(depth, valueDepth); }
  int64_t statistics() const { return shape.batch * shape.queryHeads * shape.queries; }

  /// Block sizes of the first candidate whose tiles fit, of `own` resident and `other` passing rows.
  AttentionBlocks choose(const CallKernels &kernels, ArrayRef<std::pair<int64_t, int64_t>> candidates) const {
    for (auto [own, other] : candidates)
      if (own * (depth + valueDepth) + other * mostDepth() + own * other <= kSharedFloats)
        return {own, other};
    rt::calls::failCall(kernels.call,
                        "heads of depth {} do not fit shared memory: attention for CUDA takes up to 256",
                        std::max(shape.depth, shape.valueDepth));
  }
};

/// What both kernels do with a block of scores.
class GradientKernel {
protected:
  GradientKernel(KernelBuilder &k, const Backward &plan, ArrayRef<Memory> memory,
                 const OptionalOperands &optional)
      : k(k), plan(plan), shape(plan.shape), memory(memory), scores(k, shape, optional.mask),
        dropout(k, shape, optional.counters) {}

  Memory shared(int64_t floats) { return k.shared(k.b.getF32Type(), floats); }

  GlobalRows queries() const {
    return headRows(memory[kQuery], shape.q, position.batch, position.head, position.query,
                    left(position.query), shape.depth);
  }
  GlobalRows gradients() const {
    return headRows(memory[kGradient], plan.gradientView, position.batch, position.head, position.query,
                    left(position.query), shape.valueDepth);
  }
  GlobalRows keys(Num keyHead) const {
    return headRows(memory[kKey], shape.k, position.batch, keyHead, position.key, shape.keys - position.key,
                    shape.depth);
  }
  GlobalRows values(Num keyHead) const {
    return headRows(memory[kValue], shape.v, position.batch, keyHead, position.key, shape.keys - position.key,
                    shape.valueDepth);
  }
  Num left(Num query) const { return shape.queries - query; }
  Nums zeros(const TilePart &part) const { return Nums(part.size(), k.f32(0)); }

  /// 2^(score - lse), 0 for queries past the end.
  void weigh(const TilePart &part, Nums &values, Nums *factors) {
    scores.finish(part, position, values, factors);
    Num infinity = k.f32(std::numeric_limits<double>::infinity());
    for (int64_t r = 0; r < part.rows.size(); ++r) {
      Num query = position.query + part.rows.at(r);
      Num lse = k.choose(
          query < shape.queries, [&]() -> Nums { return {k.load(memory[kLse], statisticsAt(query))}; },
          [&]() -> Nums { return {infinity}; })[0];
      // A query that sees nothing: weights 2^(s - inf) = 0.
      lse = select(lse == -infinity, infinity, lse * kLog2e);
      for (int64_t c = 0; c < part.columns.size(); ++c) {
        Num &value = values[r * part.columns.size() + c];
        value = k.exp2(value - lse);
      }
    }
  }

  /// Gradients of the scores before scale: weight (gradient of the weight - delta).
  Nums scoreGradients(const TilePart &part, const Nums &weights, const Nums &gradients, const Nums &factors) {
    Nums results;
    for (int64_t r = 0; r < part.rows.size(); ++r) {
      Num query = position.query + part.rows.at(r);
      Num delta = k.choose(
          query < shape.queries, [&]() -> Nums { return {k.load(memory[kDelta], statisticsAt(query))}; },
          [&]() -> Nums { return {k.f32(0)}; })[0];
      for (int64_t c = 0; c < part.columns.size(); ++c) {
        int64_t at = r * part.columns.size() + c;
        Num result = weights[at] * (gradients[at] - delta) * shape.scale;
        results.push_back(shape.softcap != 0 ? result * factors[at] : result);
      }
    }
    return results;
  }

  /// What dropout multiplies a part's weights, and their gradients, by; nothing without it.
  Nums dropFactors(const TilePart &part) {
    Nums factors;
    if (dropout.isOn())
      for (Num kept : dropout.kept(part, position))
        factors.push_back(select(kept, k.f32(shape.dropout.kept), k.f32(0)));
    return factors;
  }
  static Nums multiplied(Nums values, const Nums &factors) {
    for (size_t at = 0; at < factors.size(); ++at)
      values[at] = values[at] * factors[at];
    return values;
  }

  void storeScores(const TilePart &part, const Tile &tile, const Nums &values) {
    for (int64_t r = 0; r < part.rows.size(); ++r)
      for (int64_t c = 0; c < part.columns.size(); ++c)
        tile.store(part.rows.at(r), part.columns.at(c), values[r * part.columns.size() + c]);
  }

  Num statisticsAt(Num query) {
    return (position.batch * shape.queryHeads + position.head) * shape.queries + query;
  }

  KernelBuilder &k;
  const Backward &plan;
  const AttentionShape &shape;
  ArrayRef<Memory> memory;
  Scores scores;
  Dropout dropout;
  ScorePosition position;
};

/// dK and dV of a block of keys: over the heads of its group, over the queries that see it.
class KeyGradients : GradientKernel {
public:
  KeyGradients(KernelBuilder &k, const Backward &plan, AttentionBlocks blocks, ArrayRef<Memory> memory,
               const OptionalOperands &optional)
      : GradientKernel(k, plan, memory, optional), blocks(blocks), grid(Grid::of(k, 8, 16)),
        keyTile(k, shared(blocks.keys * plan.depth), blocks.keys, plan.depth),
        valueTile(k, shared(blocks.keys * plan.valueDepth), blocks.keys, plan.valueDepth),
        passing(shared(blocks.queries * plan.mostDepth())), queryTile(k, passing, blocks.queries, plan.depth),
        gradientTile(k, passing, blocks.queries, plan.valueDepth),
        scoreTile(k, shared(blocks.queries * blocks.keys), blocks.queries, blocks.keys),
        scorePart{Share::of(grid.y, 8, blocks.queries), Share::of(grid.x, 16, blocks.keys)},
        keyPart{Share::of(grid.y, 8, blocks.keys, 4), depthShare(grid.x, plan.depth)},
        valuePart{keyPart.rows, depthShare(grid.x, plan.valueDepth)} {
    int64_t heads = shape.batch * shape.keyHeads;
    // Of causal heads the first keys are seen by most queries: they begin first.
    Num head = k.block() % heads;
    position = {head / shape.keyHeads, k.index(0), k.index(0), k.block() / heads * blocks.keys};
    keyHead = head % shape.keyHeads;
    run(memory[kResults], memory[kResults + 1]);
  }

private:
  void run(Memory dKey, Memory dValue) {
    fill(k, keyTile, keys(keyHead), kThreads);
    fill(k, valueTile, values(keyHead), kThreads);
    Nums sums = zeros(keyPart);
    sums.append(zeros(valuePart));
    const QueryRange seeing = queriesOf(k, shape, position.key, blocks.keys, blocks.queries);
    sums = k.loop(k.index(0), k.index(shape.group()), k.index(1), sums, [&](Num member, Nums carried) {
      position.head = keyHead * shape.group() + member;
      return k.loop(seeing.begin, seeing.end, k.index(blocks.queries), carried, [&](Num query, Nums carried) {
        position.query = query;
        return queryBlock(carried);
      });
    });
    GlobalRows rows = keys(keyHead), valueRows = values(keyHead);
    rows.memory = dKey, valueRows.memory = dValue;
    storePart(k, keyPart, Nums(ArrayRef<Num>(sums).take_front(keyPart.size())), rows);
    storePart(k, valuePart, Nums(ArrayRef<Num>(sums).drop_front(keyPart.size())), valueRows);
  }

  Nums queryBlock(Nums carried) {
    Nums keySums(ArrayRef<Num>(carried).take_front(keyPart.size()));
    Nums valueSums(ArrayRef<Num>(carried).drop_front(keyPart.size()));
    k.barrier();
    fill(k, queryTile, queries(), kThreads, scores.queryScale());
    k.barrier();
    Nums weights = productNT(k, scorePart, queryTile, keyTile, plan.depth, zeros(scorePart));
    Nums factors(scorePart.size());
    weigh(scorePart, weights, shape.softcap != 0 ? &factors : nullptr);
    Nums drops = dropFactors(scorePart);
    storeScores(scorePart, scoreTile, multiplied(weights, drops));
    k.barrier();
    fill(k, gradientTile, gradients(), kThreads);
    k.barrier();
    Nums grads = productNT(k, scorePart, gradientTile, valueTile, plan.valueDepth, zeros(scorePart));
    grads = multiplied(grads, drops);
    valueSums = productTN(k, valuePart, scoreTile, gradientTile, blocks.queries, valueSums);
    Nums scoreGrads = scoreGradients(scorePart, weights, grads, factors);
    k.barrier();
    storeScores(scorePart, scoreTile, scoreGrads);
    fill(k, queryTile, queries(), kThreads);
    k.barrier();
    keySums = productTN(k, keyPart, scoreTile, queryTile, blocks.queries, keySums);
    keySums.append(valueSums);
    return keySums;
  }

  AttentionBlocks blocks;
  Grid grid;
  Tile keyTile, valueTile;
  Memory passing; ///< queries, or gradients of their results
  Tile queryTile, gradientTile, scoreTile;
  TilePart scorePart, keyPart, valuePart;
  Num keyHead;
};

/// dQ of a block of queries: over the keys that it sees.
class QueryGradients : GradientKernel {
public:
  QueryGradients(KernelBuilder &k, const Backward &plan, AttentionBlocks blocks, ArrayRef<Memory> memory,
                 const OptionalOperands &optional)
      : GradientKernel(k, plan, memory, optional), blocks(blocks), grid(Grid::of(k, 16, 8)),
        wideGrid(Grid::of(k, 8, 16)),
        queryTile(k, shared(blocks.queries * plan.depth), blocks.queries, plan.depth),
        gradientTile(k, shared(blocks.queries * plan.valueDepth), blocks.queries, plan.valueDepth),
        passing(shared(blocks.keys * plan.mostDepth())), keyTile(k, passing, blocks.keys, plan.depth),
        valueTile(k, passing, blocks.keys, plan.valueDepth),
        scoreTile(k, shared(blocks.queries * blocks.keys), blocks.queries, blocks.keys),
        scorePart{Share::of(grid.y, 16, blocks.queries), Share::of(grid.x, 8, blocks.keys)},
        queryPart{Share::of(wideGrid.y, 8, blocks.queries), depthShare(wideGrid.x, plan.depth)} {
    int64_t heads = shape.batch * shape.queryHeads;
    Num block = (ceilDiv(shape.queries, blocks.queries) - 1) - k.block() / heads, head = k.block() % heads;
    position = {head / shape.queryHeads, head % shape.queryHeads, block * blocks.queries, k.index(0)};
    keyHead = position.head / shape.group();
    run(memory[kResults]);
  }

private:
  void run(Memory dQuery) {
    fill(k, queryTile, queries(), kThreads, scores.queryScale());
    fill(k, gradientTile, gradients(), kThreads);
    const KeyRange range = keysOf(k, shape, position.query, blocks.queries, blocks.keys);
    Nums sums =
        k.loop(range.begin, range.end, k.index(blocks.keys), zeros(queryPart), [&](Num key, Nums carried) {
          position.key = key;
          return keyBlock(carried);
        });
    GlobalRows rows = queries();
    rows.memory = dQuery;
    storePart(k, queryPart, sums, rows);
  }

  Nums keyBlock(Nums sums) {
    k.barrier();
    fill(k, keyTile, keys(keyHead), kThreads);
    k.barrier();
    Nums weights = productNT(k, scorePart, queryTile, keyTile, plan.depth, zeros(scorePart));
    Nums factors(scorePart.size());
    weigh(scorePart, weights, shape.softcap != 0 ? &factors : nullptr);
    k.barrier();
    fill(k, valueTile, values(keyHead), kThreads);
    k.barrier();
    Nums grads = productNT(k, scorePart, gradientTile, valueTile, plan.valueDepth, zeros(scorePart));
    grads = multiplied(grads, dropFactors(scorePart));
    storeScores(scorePart, scoreTile, scoreGradients(scorePart, weights, grads, factors));
    k.barrier();
    fill(k, keyTile, keys(keyHead), kThreads);
    k.barrier();
    return productNN(k, queryPart, scoreTile, keyTile, blocks.keys, sums);
  }

  AttentionBlocks blocks;
  Grid grid, wideGrid;
  Tile queryTile, gradientTile;
  Memory passing; ///< keys or values
  Tile keyTile, valueTile, scoreTile;
  TilePart scorePart, queryPart;
  Num keyHead;
};

/// A warp a query.
void writeDelta(KernelBuilder &k, const Backward &plan, Memory gradient, Memory o, Memory delta) {
  const AttentionShape &s = plan.shape;
  Num query = k.block() * (kThreads / 32) + k.thread() / 32, lane = k.thread() % 32;
  k.when(query < plan.statistics(), [&] {
    Nums index = k.split(query, {s.batch, s.queryHeads, s.queries});
    Num first = k.dot(index, {plan.gradientView.batch, plan.gradientView.head, plan.gradientView.row});
    Num second = k.dot(index, {s.o.batch, s.o.head, s.o.row});
    Num sum = k.loop(lane, k.index(s.valueDepth), k.index(32), {k.f32(0)}, [&](Num at, Nums sum) -> Nums {
      return {fma(k.load(gradient, first + at), k.load(o, second + at), sum[0])};
    })[0];
    sum = k.reduceLanes(sum, 32, [](Num a, Num b) { return a + b; });
    k.when(lane == 0, [&] { k.store(delta, query, sum); });
  });
}

} // namespace

void kedge::lower::gpu::generateAttentionGrad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  bool packed = rt::calls::boolAttr(call, "packed", false);
  size_t tensors = packed ? 4 : 6, results = packed ? 1 : 3, o = packed ? 2 : 4;
  rt::calls::expectCounts(call, tensors, tensors + 5, results, results);
  expectTypes(kernels);
  AttentionShape shape = rt::calls::readAttention(call, 1, call.inputs[o], tensors);
  expectOnGpu(kernels, shape);
  rt::calls::expectShape(call, call.inputs[0], call.inputs[o].shape, "dO");
  // Packed operands are one, which has a view each.
  auto part = [&](size_t number) { return packed ? 0 : number; };
  SmallVector<Operand> operands = {kernels.input(0), kernels.input(1 + part(0)), kernels.input(1 + part(1)),
                                   kernels.input(1 + part(2)), kernels.input(o)};
  for (size_t result = 0; result < 3; ++result)
    operands.push_back(kernels.output(part(result)));
  if (isHalf(shape, operands)) {
    operands.insert(operands.begin() + 5, kernels.input(o + 1)); // LSE is f32 always
    return generateHalfAttentionGrad(kernels, shape, operands);
  }
  if (packed)
    rt::calls::failCall(
        call, "packed gradients of f32 have no kernel for CUDA: give Q, K and V as operands of their own");
  Backward plan{shape, shape.o, paddedDepth(shape.depth), paddedDepth(shape.valueDepth)};
  Operand delta = kernels.workspace(kernels.f32(), plan.statistics());
  kernels.kernel("attention_delta", ceilDiv(plan.statistics(), kThreads / 32), kThreads,
                 {kernels.input(0), kernels.input(4), delta}, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
                   writeDelta(k, plan, memory[0], memory[1], memory[2]);
                 });
  /// The operands of one kernel: as Slot numbers them, its results, then the optional ones.
  auto launch = [&](llvm::StringRef hint, int64_t blocks, ArrayRef<size_t> results, auto write) {
    SmallVector<Operand> operands = {kernels.input(0), kernels.input(1), kernels.input(2),
                                     kernels.input(3), kernels.input(5), delta};
    for (size_t result : results)
      operands.push_back(kernels.output(result));
    size_t others = operands.size();
    appendOptional(kernels, shape, operands);
    kernels.kernel(hint, blocks, kThreads, operands, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
      k.residentBlocks(residentBlocks(shape));
      write(k, memory, OptionalOperands(shape, memory.drop_front(others)));
    });
  };
  AttentionBlocks keyBlocks = plan.choose(kernels, {{64, 32}, {32, 16}, {16, 8}}), queryBlocks = keyBlocks;
  std::swap(keyBlocks.queries, keyBlocks.keys);
  launch("attention_grad_keys", shape.batch * shape.keyHeads * ceilDiv(shape.keys, keyBlocks.keys), {1, 2},
         [&](KernelBuilder &k, ArrayRef<Memory> memory, const OptionalOperands &optional) {
           KeyGradients(k, plan, keyBlocks, memory, optional);
         });
  launch("attention_grad_queries",
         shape.batch * shape.queryHeads * ceilDiv(shape.queries, queryBlocks.queries), {0},
         [&](KernelBuilder &k, ArrayRef<Memory> memory, const OptionalOperands &optional) {
           QueryGradients(k, plan, queryBlocks, memory, optional);
         });
}
