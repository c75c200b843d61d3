// train.attention of 16-bit operands: a warp owns queries; blocks of keys, then of values, pass while the
// tensor cores work on the block before.
#include "passes/Lower/Gpu/library/WarpgroupAttention.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::lower::gpu::attention;

namespace {

struct HalfForward {
  AttentionShape shape;
  int64_t depth, valueDepth; ///< padded
  Tiling tiling;

  HalfForward(const CallKernels &kernels, const AttentionShape &shape)
      : shape(shape), depth(matrixDepth(shape.depth)), valueDepth(matrixDepth(shape.valueDepth)) {
    for (auto [rowTiles, columns] : {std::pair{2, 64}, {2, 32}, {1, 64}, {1, 32}, {1, 16}})
      for (bool isHeld : {true, false}) {
        tiling = {4, rowTiles, columns, 1, isHeld};
        bool isWorth = rowTiles == 1 || shape.queries > 64;
        if (isWorth && sharedNumbers() <= kSharedNumbers && registers() <= kPlannedRegisters)
          return;
      }
    failTooDeep(kernels, shape);
  }

  int64_t ownNumbers() const { return tiling.rows() * std::max(depth, valueDepth); }
  int64_t sharedNumbers() const { return ownNumbers() + tiling.columns * (depth + valueDepth); }
  /// Scores and weights live side by side for a moment. Random numbers need some, too.
  int64_t registers() const {
    return tiling.sums(valueDepth) + tiling.sums(tiling.columns) * 5 / 4 + tiling.held(depth) +
           (shape.drops() ? 40 : 0);
  }
  int64_t queryBlocks() const { return ceilDiv(shape.queries, tiling.rows()); }
  int64_t gridBlocks() const { return shape.batch * shape.queryHeads * queryBlocks(); }
};

class HalfForwardKernel : QueryRows {
public:
  /// `memory`: O, LSE, Q, K, V.
  HalfForwardKernel(KernelBuilder &k, const HalfForward &plan, ArrayRef<Memory> memory,
                    const OptionalOperands &optional)
      : QueryRows(k, plan.shape, plan.tiling, memory[2].element, plan.sharedNumbers(), optional), plan(plan),
        memory(memory), sinks(optional.sinks), queryTile(tile(0, tiling.rows(), plan.depth)),
        keyTile(tile(plan.ownNumbers(), tiling.columns, plan.depth)),
        valueTile(tile(plan.ownNumbers() + keyTile.size(), tiling.columns, plan.valueDepth)),
        queries(k, queryTile, tiling, warpRow), keys(k, keyTile, PartReader::Beside, k.index(0)),
        values(k, valueTile, PartReader::Below, k.index(0)) {
    int64_t heads = shape.batch * shape.queryHeads;
    // Of causal heads the last queries see most keys: they begin first.
    Num block = (plan.queryBlocks() - 1) - k.block() / heads, head = k.block() % heads;
    firstQuery = block * tiling.rows();
    position = {head / shape.queryHeads, head % shape.queryHeads, firstQuery + warpRow, k.index(0)};
    run();
  }

private:
  void run() {
    Num left = shape.queries - firstQuery;
    beginFill(k, queryTile,
              headRows(memory[2], shape.q, position.batch, position.head, firstQuery, left, shape.depth),
              tiling.threads(), k.index(0));
    const KeyRange range = keysOf(k, shape, firstQuery, tiling.rows(), tiling.columns);
    beginKeys(range.begin);
    waitForFills(k); // here, for a block that sees no key
    if (tiling.isHeld) {
      k.barrier();
      queries.hold();
    }
    size_t rows = part.rows.size();
    Nums sums = k.loop(range.begin, range.end, k.index(tiling.columns),
                       startOf(plan.valueDepth, sinks).pack(), [&](Num key, Nums carried) {
                         return keyBlock(key, range.end, HalfSoftmax::unpack(carried, rows)).pack();
                       });
    finish(HalfSoftmax::unpack(sums, rows), left);
  }

  void beginKeys(Num key) {
    beginFill(k, keyTile,
              headRows(memory[3], shape.k, position.batch, position.head / shape.group(), key,
                       shape.keys - key, shape.depth),
              tiling.threads(), k.index(0));
  }
  void beginValues(Num key) {
    beginFill(k, valueTile,
              headRows(memory[4], shape.v, position.batch, position.head / shape.group(), key,
                       shape.keys - key, shape.valueDepth),
              tiling.threads(), k.index(0));
  }

  /// Values come while scores are computed, the next keys while weights meet values.
  HalfSoftmax keyBlock(Num key, Num end, HalfSoftmax softmax) {
    position.key = key;
    waitForFills(k);
    k.barrier(); // keys are there, the values of the last block are read
    beginValues(key);
    Nums weights = scoresOf(queries, keys, k.index(0), plan.depth);
    waitForFills(k);
    k.barrier(); // values are there, keys are read
    Num next = key + tiling.columns;
    k.when(next < end, [&] { beginKeys(next); });
    weigh(weights, softmax);
    auto words = [&](int64_t i, int64_t step) { return leftWords(k, type, pieces, weights, i, step); };
    softmax.values = multiplyByColumns(k, type, sumsOf(plan.valueDepth), words, values, k.index(0),
                                       tiling.columns / 16, softmax.values);
    return softmax;
  }

  void finish(HalfSoftmax softmax, Num left) {
    Num sums = (position.batch * shape.queryHeads + position.head) * shape.queries + firstQuery;
    Nums values = finishRows(std::move(softmax), memory[1], sums, left);
    writeRows(
        values, plan.valueDepth,
        headRows(memory[0], shape.o, position.batch, position.head, firstQuery, left, shape.valueDepth));
  }

  const HalfForward &plan;
  ArrayRef<Memory> memory;
  std::optional<Memory> sinks;
  MatrixTile queryTile, keyTile, valueTile;
  LeftRows queries;
  PartReader keys, values;
  Num firstQuery; ///< of the block
};

} // namespace

void attention::generateHalfAttention(CallKernels &kernels, const AttentionShape &shape,
                                      ArrayRef<Operand> operands) {
  if (generateWarpgroupAttention(kernels, shape, operands))
    return;
  HalfForward plan(kernels, shape);
  SmallVector<Operand> all(operands);
  appendOptional(kernels, shape, all);
  kernels.kernel("attention", plan.gridBlocks(), plan.tiling.threads(), all,
                 [&](KernelBuilder &k, ArrayRef<Memory> memory) {
                   k.residentBlocks(2);
                   HalfForwardKernel(k, plan, memory,
                                     OptionalOperands(shape, memory.drop_front(operands.size())));
                 });
}
