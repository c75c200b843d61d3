// train.attention_grad of 16-bit operands: as in f32, one kernel owns keys and walks over queries, one owns
// queries and walks over keys, and every sum has one owner and one order.
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/HalfAttention.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::lower::gpu::attention;

namespace {

/// Operands of a kernel: those that pass or stay, LSE in units of log 2 and delta from the workspace, its
/// results.
enum Slot { kGradient, kQuery, kKey, kValue, kLse, kDelta, kResults };

struct Plan {
  const CallKernels &kernels;
  AttentionShape shape;
  int64_t depth, valueDepth; ///< padded

  Plan(const CallKernels &kernels, const AttentionShape &shape)
      : kernels(kernels), shape(shape), depth(matrixDepth(shape.depth)),
        valueDepth(matrixDepth(shape.valueDepth)) {}

  int64_t bothDepths() const { return depth + valueDepth; }
  int64_t statistics() const { return shape.batch * shape.queryHeads * shape.queries; }
  int64_t stageNumbers(const Tiling &tiling) const { return tiling.columns * bothDepths(); }
  /// What stays before what passes; what is held lies there only until it is read.
  int64_t passingAt(const Tiling &tiling, int64_t ownWidth) const {
    return tiling.isHeld ? 0 : tiling.rows() * ownWidth;
  }
  int64_t sharedNumbers(const Tiling &tiling, int64_t ownWidth) const {
    int64_t results = tiling.rows() * std::max(depth, valueDepth); // which go out by way of it
    return std::max({tiling.rows() * ownWidth, results,
                     passingAt(tiling, ownWidth) + tiling.stages * stageNumbers(tiling)});
  }
  /// `sums`: width of all results together. `statistics`: registers for them.
  bool fits(const Tiling &tiling, int64_t ownWidth, int64_t sums, int64_t statistics) const {
    int64_t registers =
        tiling.sums(sums) + 2 * tiling.sums(tiling.columns) + tiling.held(ownWidth) + statistics;
    return sharedNumbers(tiling, ownWidth) <= kSharedNumbers && registers <= kPlannedRegisters;
  }
};

class HalfGradientKernel : protected HalfKernel {
protected:
  HalfGradientKernel(KernelBuilder &k, const Plan &plan, const Tiling &tiling, int64_t ownWidth,
                     ArrayRef<Memory> memory, const OptionalOperands &optional, bool flipped)
      : HalfKernel(k, plan.shape, tiling, memory[kQuery].element, plan.sharedNumbers(tiling, ownWidth),
                   optional, flipped),
        plan(plan), memory(memory), passing(plan.passingAt(tiling, ownWidth)) {}

  GlobalRows queries(Num first) const {
    return headRows(memory[kQuery], shape.q, position.batch, position.head, first, shape.queries - first,
                    shape.depth);
  }
  GlobalRows gradients(Num first) const {
    return headRows(memory[kGradient], shape.o, position.batch, position.head, first, shape.queries - first,
                    shape.valueDepth);
  }
  GlobalRows keys(Num keyHead, Num first) const {
    return headRows(memory[kKey], shape.k, position.batch, keyHead, first, shape.keys - first, shape.depth);
  }
  GlobalRows values(Num keyHead, Num first) const {
    return headRows(memory[kValue], shape.v, position.batch, keyHead, first, shape.keys - first,
                    shape.valueDepth);
  }
  void fill(const MatrixTile &tile, const GlobalRows &rows, Num shift) {
    beginFill(k, tile, rows, tiling.threads(), shift);
  }
  Num statisticsAt(Num query) {
    return (position.batch * shape.queryHeads + position.head) * shape.queries + query;
  }

  /// Factor and gradient of the warp's scores, before scale: weight (gradient of the weight - delta).
  Nums scoreGradients(const Nums &weights, const Nums &gradients, const Nums &drops, const Nums &factors,
                      const Nums &delta) {
    Nums results;
    for (int64_t at = 0; at < part.size(); ++at) {
      Num minusDelta = -delta[at / part.columns.size()];
      Num gradient = drops.empty() ? gradients[at] + minusDelta : fma(gradients[at], drops[at], minusDelta);
      results.push_back(weights[at] * gradient);
      if (shape.softcap != 0)
        results.back() = results.back() * factors[at];
    }
    return results;
  }

  Nums weights(const LeftRows &left, const PartReader &right, Num shift, const Nums &lse, Nums &factors) {
    factors.resize(part.size());
    Nums values = scoresOf(left, right, shift, plan.depth, shape.softcap != 0 ? &factors : nullptr);
    for (int64_t at = 0; at < part.size(); ++at)
      values[at] = weight(values[at], lse[at / part.columns.size()]);
    return values;
  }
  static Nums multiplied(Nums values, const Nums &factors) {
    for (size_t at = 0; at < factors.size(); ++at)
      values[at] = values[at] * factors[at];
    return values;
  }
  Nums scaled(Nums sums) const {
    for (Num &sum : sums)
      sum = sum * shape.scale;
    return sums;
  }

  const Plan &plan;
  ArrayRef<Memory> memory;
  int64_t passing; ///< place of what passes
};

/// dQ of a block of queries: over the keys that it sees.
class HalfQueryGradients : HalfGradientKernel {
public:
  static Tiling tilingOf(const Plan &plan) {
    for (int64_t warps : {4, 2})
      for (Tiling tiling :
           {Tiling{warps, 2, 32, 2, false}, Tiling{warps, 1, 64, 2, true}, Tiling{warps, 1, 32, 2, true},
            Tiling{warps, 1, 32, 2, false}, Tiling{warps, 1, 16, 2, false}, Tiling{warps, 1, 16, 1, false}}) {
        bool isWorth = tiling.rowTiles == 1 || plan.shape.queries > 64;
        if (isWorth && plan.fits(tiling, plan.bothDepths(), plan.depth, 4 * tiling.rowTiles))
          return tiling;
      }
    failTooDeep(plan.kernels, plan.shape);
  }

  HalfQueryGradients(KernelBuilder &k, const Plan &plan, const Tiling &tiling, ArrayRef<Memory> memory,
                     const OptionalOperands &optional)
      : HalfGradientKernel(k, plan, tiling, plan.bothDepths(), memory, optional, /*flipped=*/false),
        queryTile(tile(0, tiling.rows(), plan.depth)),
        gradientTile(tile(queryTile.size(), tiling.rows(), plan.valueDepth)),
        keyTile(tile(passing, tiling.columns, plan.depth)),
        valueTile(tile(passing + keyTile.size(), tiling.columns, plan.valueDepth)),
        query(k, queryTile, tiling, warpRow), gradient(k, gradientTile, tiling, warpRow),
        keyRows(k, keyTile, PartReader::Beside, k.index(0)),
        keyColumns(k, keyTile, PartReader::Below, k.index(0)),
        valueRows(k, valueTile, PartReader::Beside, k.index(0)) {
    int64_t heads = shape.batch * shape.queryHeads;
    Num block = (ceilDiv(shape.queries, tiling.rows()) - 1) - k.block() / heads, head = k.block() % heads;
    firstQuery = block * tiling.rows();
    position = {head / shape.queryHeads, head % shape.queryHeads, firstQuery + warpRow, k.index(0)};
    run();
  }

private:
  void run() {
    fill(queryTile, queries(firstQuery), k.index(0));
    fill(gradientTile, gradients(firstQuery), k.index(0));
    if (tiling.isHeld) {
      waitForFills(k);
      k.barrier();
      query.hold(), gradient.hold();
      k.barrier();
    }
    for (int64_t r = 0; r < part.rows.size(); ++r) {
      Num at = statisticsAt(min(position.query + part.rows.at(r), k.index(shape.queries - 1)));
      lse.push_back(k.load(memory[kLse], at)), delta.push_back(k.load(memory[kDelta], at));
    }
    const KeyRange range = keysOf(k, shape, firstQuery, tiling.rows(), tiling.columns);
    Num count = range.end;
    if (shape.hidesBefore())
      count = count - range.begin;
    count = (count + (tiling.columns - 1)) / tiling.columns;
    auto keyOf = [&](Num n) {
      return shape.hidesBefore() ? range.begin + n * tiling.columns : n * tiling.columns;
    };
    auto begin = [&](Num n, Num shift) {
      Num keyHead = position.head / shape.group();
      fill(keyTile, keys(keyHead, keyOf(n)), shift);
      fill(valueTile, values(keyHead, keyOf(n)), shift);
    };
    Nums sums = walk(count, hasBlindQueries(shape, tiling.rows(), tiling.columns), plan.stageNumbers(tiling),
                     zeros(sumsOf(plan.depth).size()), begin, [&](Num n, Num shift, Nums sums) {
                       position.key = keyOf(n);
                       return keyBlock(shift, sums);
                     });
    GlobalRows rows = queries(firstQuery);
    rows.memory = memory[kResults];
    writeRows(scaled(sums), plan.depth, rows);
  }

  Nums keyBlock(Num shift, Nums sums) {
    Nums factors, kept = weights(query, keyRows, shift, lse, factors);
    auto left = [&](int64_t i, int64_t step) { return gradient.words(i, step); };
    Nums grads =
        multiplyByRows(k, type, pieces, left, valueRows, shift, plan.valueDepth / 16, zeros(pieces.size()));
    grads = scoreGradients(kept, grads, dropFactors(), factors, delta);
    auto words = [&](int64_t i, int64_t step) { return leftWords(k, type, pieces, grads, i, step); };
    return multiplyByColumns(k, type, sumsOf(plan.depth), words, keyColumns, shift, tiling.columns / 16,
                             sums);
  }

  MatrixTile queryTile, gradientTile, keyTile, valueTile;
  LeftRows query, gradient;
  PartReader keyRows, keyColumns, valueRows;
  Nums lse, delta; ///< of the lane's rows
  Num firstQuery;  ///< of the block
};

/// Which gradients a kernel that owns keys makes. Deep heads have registers for one at a time.
struct Wanted {
  bool key, value;
};

/// dK and dV of a block of keys: over the heads of its group, over the queries that see it.
class HalfKeyGradients : HalfGradientKernel {
public:
  static int64_t ownWidth(const Plan &plan, Wanted wanted) {
    return wanted.key ? plan.bothDepths() : plan.depth;
  }
  static std::optional<Tiling> tilingOf(const Plan &plan, Wanted wanted) {
    int64_t sums = (wanted.key ? plan.depth : 0) + (wanted.value ? plan.valueDepth : 0);
    for (int64_t warps : {4, 2})
      for (Tiling tiling : {Tiling{warps, 1, 32, 2, true}, Tiling{warps, 1, 32, 2, false},
                            Tiling{warps, 1, 16, 2, false}, Tiling{warps, 1, 16, 1, false}})
        if (plan.fits(tiling, ownWidth(plan, wanted), sums, tiling.columns / 2))
          return tiling;
    return std::nullopt;
  }

  HalfKeyGradients(KernelBuilder &k, const Plan &plan, const Tiling &tiling, Wanted wanted,
                   ArrayRef<Memory> memory, const OptionalOperands &optional)
      : HalfGradientKernel(k, plan, tiling, ownWidth(plan, wanted), memory, optional, /*flipped=*/true),
        wanted(wanted), keyTile(tile(0, tiling.rows(), plan.depth)),
        valueTile(tile(keyTile.size(), tiling.rows(), plan.valueDepth)),
        queryTile(tile(passing, tiling.columns, plan.depth)),
        gradientTile(tile(passing + queryTile.size(), tiling.columns, plan.valueDepth)),
        key(k, keyTile, tiling, warpRow), value(k, valueTile, tiling, warpRow),
        queryRows(k, queryTile, PartReader::Beside, k.index(0)),
        queryColumns(k, queryTile, PartReader::Below, k.index(0)),
        gradientRows(k, gradientTile, PartReader::Beside, k.index(0)),
        gradientColumns(k, gradientTile, PartReader::Below, k.index(0)) {
    int64_t heads = shape.batch * shape.keyHeads;
    // Of causal heads the first keys are seen by most queries: they begin first.
    Num head = k.block() % heads;
    keyHead = head % shape.keyHeads;
    firstKey = k.block() / heads * tiling.rows();
    position = {head / shape.keyHeads, keyHead, k.index(0), firstKey + warpRow};
    run();
  }

private:
  void run() {
    fill(keyTile, keys(keyHead, firstKey), k.index(0));
    if (wanted.key)
      fill(valueTile, values(keyHead, firstKey), k.index(0));
    if (tiling.isHeld) {
      waitForFills(k);
      k.barrier();
      key.hold();
      if (wanted.key)
        value.hold();
      k.barrier();
    }
    keySums = wanted.key ? sumsOf(plan.depth).size() : 0;
    Nums sums = zeros(keySums + (wanted.value ? sumsOf(plan.valueDepth).size() : 0));
    Num firstBlock = k.index(0), endBlock = k.index(ceilDiv(shape.queries, tiling.columns));
    if (shape.hidesBehind())
      firstBlock = max(firstKey - shape.right, k.index(0)) / tiling.columns;
    if (shape.hidesBefore())
      endBlock =
          (queriesOf(k, shape, firstKey, tiling.rows(), 1).end + (tiling.columns - 1)) / tiling.columns;
    Num blocks = max(endBlock - firstBlock, k.index(0));
    // Which head and which queries block number n of the walk is.
    auto moveTo = [&](Num n) {
      Num perHead = max(blocks, k.index(1)), member = shape.group() == 1 ? k.index(0) : n / perHead;
      position.head = keyHead * shape.group() + member;
      position.query = (firstBlock + (n - member * perHead)) * tiling.columns;
    };
    auto begin = [&](Num n, Num shift) {
      moveTo(n);
      fill(queryTile, queries(position.query), shift);
      fill(gradientTile, gradients(position.query), shift);
    };
    auto body = [&](Num n, Num shift, Nums sums) {
      moveTo(n);
      return queryBlock(shift, sums);
    };
    sums = walk(blocks * shape.group(), hasUnseenKeys(shape, tiling.rows(), tiling.columns),
                plan.stageNumbers(tiling), sums, begin, body);
    write(sums);
  }

  void write(const Nums &sums) {
    ArrayRef<Num> all = sums;
    GlobalRows keyRows = keys(keyHead, firstKey), valueRows = values(keyHead, firstKey);
    keyRows.memory = memory[kResults], valueRows.memory = memory[wanted.key ? kResults + 1 : kResults];
    if (wanted.key)
      writeRows(scaled(Nums(all.take_front(keySums))), plan.depth, keyRows);
    if (wanted.value)
      writeRows(Nums(all.drop_front(keySums)), plan.valueDepth, valueRows);
  }

  /// Of the lane's queries, in the order of the part's rows.
  Nums statistics(Memory from) {
    Nums values;
    for (int64_t r = 0; r < part.rows.size(); r += 2) {
      Num query = position.query + part.rows.at(r);
      if (shape.queries % tiling.columns == 0) { // none is missing, and pairs are aligned
        Num pair = k.load(from, statisticsAt(query), 2);
        values.append({k.lane(pair, 0), k.lane(pair, 1)});
        continue;
      }
      for (int64_t side = 0; side < 2; ++side)
        values.push_back(k.load(from, statisticsAt(min(query + side, k.index(shape.queries - 1)))));
    }
    return values;
  }

  Nums queryBlock(Num shift, Nums sums) {
    ArrayRef<Num> all = sums;
    Nums dKey(all.take_front(keySums)), dValue(all.drop_front(keySums)), factors;
    Nums kept = weights(key, queryRows, shift, statistics(memory[kLse]), factors), drops = dropFactors();
    int64_t steps = tiling.columns / 16;
    if (wanted.value) {
      Nums weights = multiplied(kept, drops);
      auto words = [&](int64_t i, int64_t step) { return leftWords(k, type, pieces, weights, i, step); };
      dValue =
          multiplyByColumns(k, type, sumsOf(plan.valueDepth), words, gradientColumns, shift, steps, dValue);
    }
    if (wanted.key) {
      auto left = [&](int64_t i, int64_t step) { return value.words(i, step); };
      Nums grads = multiplyByRows(k, type, pieces, left, gradientRows, shift, plan.valueDepth / 16,
                                  zeros(pieces.size()));
      grads = scoreGradients(kept, grads, drops, factors, statistics(memory[kDelta]));
      auto words = [&](int64_t i, int64_t step) { return leftWords(k, type, pieces, grads, i, step); };
      dKey = multiplyByColumns(k, type, sumsOf(plan.depth), words, queryColumns, shift, steps, dKey);
    }
    dKey.append(dValue);
    return dKey;
  }

  Wanted wanted;
  MatrixTile keyTile, valueTile, queryTile, gradientTile;
  LeftRows key, value;
  PartReader queryRows, queryColumns, gradientRows, gradientColumns;
  Num keyHead, firstKey; ///< of the block
  int64_t keySums = 0;
};

/// delta = sum dO O of a query, and its LSE in units of log 2, infinite where no key is seen: its weights are
/// 0 then. Lanes that are neighbours share a query, 16 bytes at once where rows allow it.
void writeStatistics(KernelBuilder &k, const Plan &plan, int64_t lanes, unsigned width,
                     ArrayRef<Memory> memory) {
  const AttentionShape &s = plan.shape;
  Memory gradient = memory[0], o = memory[1], lse = memory[2], scaledLse = memory[3], delta = memory[4];
  int64_t perBlock = kThreads / lanes;
  // The lanes past the end add up as well: shuffles need them all.
  Num own = k.block() * perBlock + k.thread() / lanes, query = min(own, k.index(plan.statistics() - 1));
  Num lane = k.thread() % lanes;
  Nums index = k.split(query, {s.batch, s.queryHeads, s.queries});
  Num position = k.dot(index, {s.o.batch, s.o.head, s.o.row}) + s.o.offset;
  Num step = k.index(lanes * width);
  Num sum = k.loop(lane * width, k.index(s.valueDepth), step, {k.f32(0)}, [&](Num at, Nums sum) -> Nums {
    Num left = k.load(gradient, position + at, width), right = k.load(o, position + at, width);
    for (unsigned v = 0; v < width; ++v)
      sum[0] = fma(k.lane(left, v), k.lane(right, v), sum[0]);
    return sum;
  })[0];
  sum = k.reduceLanes(sum, lanes, [](Num a, Num b) { return a + b; });
  k.when((lane == 0) & (own < plan.statistics()), [&] {
    Num infinity = k.f32(std::numeric_limits<double>::infinity()), value = k.load(lse, query);
    k.store(delta, query, sum);
    k.store(scaledLse, query, select(value == -infinity, infinity, value * kLog2e));
  });
}

} // namespace

void attention::generateHalfAttentionGrad(CallKernels &kernels, const AttentionShape &shape,
                                          ArrayRef<Operand> operands) {
  Plan plan(kernels, shape);
  Tiling queryTiling = HalfQueryGradients::tilingOf(plan);
  Operand lse = kernels.workspace(kernels.f32(), plan.statistics());
  Operand delta = kernels.workspace(kernels.f32(), plan.statistics());
  const HeadView &o = shape.o;
  unsigned width = vectorWidth(operands[4].element, {o.offset, o.batch, o.head, o.row, shape.valueDepth});
  int64_t lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(ceilDiv(shape.valueDepth, width)));
  kernels.kernel(
      "attention_delta", ceilDiv(plan.statistics(), kThreads / lanes), kThreads,
      {operands[0], operands[4], operands[5], lse, delta},
      [&](KernelBuilder &k, ArrayRef<Memory> memory) { writeStatistics(k, plan, lanes, width, memory); });
  auto launch = [&](StringRef hint, int64_t blocks, const Tiling &tiling, ArrayRef<size_t> results,
                    auto write) {
    SmallVector<Operand> all = {operands[0], operands[1], operands[2], operands[3], lse, delta};
    for (size_t result : results)
      all.push_back(operands[6 + result]);
    size_t others = all.size();
    appendOptional(kernels, shape, all);
    kernels.kernel(hint, blocks, tiling.threads(), all, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
      k.residentBlocks(2);
      write(k, memory, OptionalOperands(shape, memory.drop_front(others)));
    });
  };
  auto launchKeys = [&](StringRef hint, Wanted wanted, const Tiling &tiling, ArrayRef<size_t> results) {
    launch(hint, shape.batch * shape.keyHeads * ceilDiv(shape.keys, tiling.rows()), tiling, results,
           [&](KernelBuilder &k, ArrayRef<Memory> memory, const OptionalOperands &optional) {
             HalfKeyGradients(k, plan, tiling, wanted, memory, optional);
           });
  };
  if (auto tiling = HalfKeyGradients::tilingOf(plan, {true, true})) {
    launchKeys("attention_grad_keys", {true, true}, *tiling, {1, 2});
  } else {
    auto keyTiling = HalfKeyGradients::tilingOf(plan, {true, false}),
         valueTiling = HalfKeyGradients::tilingOf(plan, {false, true});
    if (!keyTiling || !valueTiling)
      failTooDeep(kernels, shape);
    launchKeys("attention_grad_keys", {true, false}, *keyTiling, {1});
    launchKeys("attention_grad_values", {false, true}, *valueTiling, {2});
  }
  launch("attention_grad_queries",
         shape.batch * shape.queryHeads * ceilDiv(shape.queries, queryTiling.rows()), queryTiling, {0},
         [&](KernelBuilder &k, ArrayRef<Memory> memory, const OptionalOperands &optional) {
           HalfQueryGradients(k, plan, queryTiling, memory, optional);
         });
}
