// train.Attention of 16-bit operands: a warp owns queries; blocks of keys, then of values, pass while the
// tensor cores work on the block before.
#include "passes/Lower/Gpu/library/HalfAttention.h"

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

/// State of the softmax of a lane's rows; four lanes share a row, and know the same of it.
struct HalfSoftmax {
  Nums maximum, sum, values;

  Nums pack() const {
    Nums all = maximum;
    all.append(sum);
    all.append(values);
    return all;
  }
  static HalfSoftmax unpack(const Nums &all, size_t rows) {
    ArrayRef<Num> list = all;
    return {Nums(list.take_front(rows)), Nums(list.slice(rows, rows)), Nums(list.drop_front(2 * rows))};
  }
};

class HalfForwardKernel : NarrowKernel {
public:
  /// `memory`: O, LSE, Q, K, V.
  HalfForwardKernel(KernelBuilder &k, const HalfForward &plan, ArrayRef<Memory> memory,
                    const OptionalOperands &optional)
      : NarrowKernel(k, plan.shape, plan.tiling, memory[2].element, plan.sharedNumbers(), optional),
        plan(plan), memory(memory), queryTile(tile(0, tiling.rows(), plan.depth)),
        keyTile(tile(plan.ownNumbers(), tiling.columns, plan.depth)),
        valueTile(tile(plan.ownNumbers() + keyTile.size(), tiling.columns, plan.valueDepth)),
        queries(k, queryTile, tiling, warpRow), keys(k, keyTile, PartReader::Beside, k.index(0)),
        values(k, valueTile, PartReader::Below, k.index(0)) {
    int64_t heads = shape.batch * shape.queryHeads;
    // Of causal heads the last queries see most keys: they begin first.
    Num block = (plan.queryBlocks() - 1) - k.block() / heads, head = k.block() % heads;
    firstQuery = block * tiling.rows();
    place = {head / shape.queryHeads, head % shape.queryHeads, firstQuery + warpRow, k.index(0)};
    run();
  }

private:
  void run() {
    Num left = shape.queries - firstQuery;
    beginFill(k, queryTile,
              headRows(memory[2], shape.q, place.batch, place.head, firstQuery, left, shape.depth),
              tiling.threads(), k.index(0));
    beginKeys(k.index(0));
    waitForFills(k); // here, for a block that sees no key
    if (tiling.isHeld) {
      k.barrier();
      queries.hold();
    }
    Num end = visibleKeys(k, shape, firstQuery, tiling.rows());
    size_t rows = part.rows.size();
    Num none = k.f32(-std::numeric_limits<double>::infinity());
    HalfSoftmax start{Nums(rows, none), zeros(rows), zeros(sumsOf(plan.valueDepth).size())};
    Nums last = k.loop(k.index(0), end, k.index(tiling.columns), start.pack(), [&](Num key, Nums carried) {
      return keyBlock(key, end, HalfSoftmax::unpack(carried, rows)).pack();
    });
    finish(HalfSoftmax::unpack(last, rows), left);
  }

  void beginKeys(Num key) {
    beginFill(k, keyTile,
              headRows(memory[3], shape.k, place.batch, place.head / shape.group(), key, shape.keys - key,
                       shape.depth),
              tiling.threads(), k.index(0));
  }
  void beginValues(Num key) {
    beginFill(k, valueTile,
              headRows(memory[4], shape.v, place.batch, place.head / shape.group(), key, shape.keys - key,
                       shape.valueDepth),
              tiling.threads(), k.index(0));
  }

  /// Values come while scores are computed, the next keys while weights meet values.
  HalfSoftmax keyBlock(Num key, Num end, HalfSoftmax softmax) {
    place.key = key;
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

  /// Scores become weights; what was summed before is brought to the new maximum.
  void weigh(Nums &values, HalfSoftmax &softmax) {
    Nums kept;
    if (dropout.isOn())
      kept = dropout.kept(part, place);
    int64_t columns = part.columns.size();
    for (int64_t r = 0; r < part.rows.size(); ++r) {
      MutableArrayRef<Num> row = MutableArrayRef<Num>(values).slice(r * columns, columns);
      Num top = softmax.maximum[r], before = top;
      for (Num score : row)
        top = maximum(score, top);
      top = k.reduceLanes(top, 4, maximum);
      // All scores -inf: any finite reference gives weights of 0.
      Num reference = select(top < -1e37, k.f32(0), top) * unit, rescale = weight(before, reference),
          sum = k.f32(0);
      for (int64_t c = 0; c < columns; ++c) {
        row[c] = weight(row[c], reference);
        sum = sum + row[c];
        if (dropout.isOn()) // finish() multiplies those that stay
          row[c] = select(kept[r * columns + c], row[c], k.f32(0));
      }
      // A lane sums its own columns; the lanes of a row come together at the end.
      softmax.sum[r] = fma(softmax.sum[r], rescale, sum);
      softmax.maximum[r] = top;
      scaleRow(softmax.values, r, rescale);
    }
  }

  void scaleRow(Nums &values, int64_t r, Num factor) {
    Pieces all = sumsOf(plan.valueDepth);
    for (int64_t j = 0; j < all.columnTiles; ++j)
      for (int64_t side = 0; side < 2; ++side) {
        Num &value = values[all.number(r / 2, j, r % 2 * 2 + side)];
        value = value * factor;
      }
  }

  void finish(HalfSoftmax softmax, Num left) {
    Num sums = (place.batch * shape.queryHeads + place.head) * shape.queries + firstQuery;
    for (int64_t r = 0; r < part.rows.size(); ++r) {
      Num sum = k.reduceLanes(softmax.sum[r], 4, [](Num a, Num b) { return a + b; }), isEmpty = sum == 0;
      scaleRow(softmax.values, r, select(isEmpty, k.f32(0), shape.dropout.kept / sum));
      Num row = warpRow + part.rows.at(r);
      k.when((part.columns.thread == 0) & (row < left), [&] {
        Num none = k.f32(-std::numeric_limits<double>::infinity());
        Num total = fma(softmax.maximum[r] * unit, k.f32(kLn2), k.log(sum));
        k.store(memory[1], sums + row, select(isEmpty, none, total));
      });
    }
    writeRows(softmax.values, plan.valueDepth,
              headRows(memory[0], shape.o, place.batch, place.head, firstQuery, left, shape.valueDepth));
  }

  const HalfForward &plan;
  ArrayRef<Memory> memory;
  MatrixTile queryTile, keyTile, valueTile;
  LeftRows queries;
  PartReader keys, values;
  Num firstQuery; ///< of the block
};

} // namespace

void attention::generateHalfAttention(CallKernels &kernels, const AttentionShape &shape,
                                      ArrayRef<Operand> operands) {
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
