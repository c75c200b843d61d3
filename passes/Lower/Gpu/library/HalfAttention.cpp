#include "passes/Lower/Gpu/library/HalfAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::attention {

bool isHalf(const AttentionShape &shape, ArrayRef<Operand> operands) {
  Type type = operands.front().element;
  return (type.isBF16() || type.isF16()) && shape.keys > 0 && shape.depth > 0 && shape.valueDepth > 0 &&
         llvm::all_of(operands, [&](const Operand &operand) { return operand.element == type; });
}

void failTooDeep(const CallKernels &kernels, const AttentionShape &shape) {
  rt::calls::failCall(kernels.call,
                      "heads of depth {} do not fit shared memory: attention for CUDA takes up to 256",
                      std::max(shape.depth, shape.valueDepth));
}

void LeftRows::hold() {
  for (int64_t i = 0; tiling.isHeld && i < tiling.rowTiles; ++i)
    for (int64_t step = 0; step < steps; ++step)
      held.push_back(reader.load(16 * i, 2 * step, /*transposed=*/false, k->index(0)));
}

Nums LeftRows::words(int64_t i, int64_t step) const {
  return tiling.isHeld ? held[i * steps + step]
                       : reader.load(16 * i, 2 * step, /*transposed=*/false, k->index(0));
}

HalfKernel::HalfKernel(KernelBuilder &k, const AttentionShape &shape, const Tiling &tiling, Type type,
                       int64_t numbers, const OptionalOperands &optional, bool flipped, int64_t alignment)
    : k(k), shape(shape), tiling(tiling), type(type), scores(k, shape, optional.mask),
      dropout(k, shape, optional.counters), pool(k.shared(k.b.getI16Type(), numbers, alignment)),
      warpRow(k.thread() / 32 * tiling.warpRows()), pieces{tiling.rowTiles, tiling.columns / 8, flipped},
      part(pieces.part(k)), unit(scores.areShaped() ? 1 : shape.scale * kLog2e) {}

MatrixTile HalfKernel::tile(int64_t first, int64_t rows, int64_t columns) {
  return {k.shifted(pool, k.index(first)), rows, columns};
}

std::optional<Num> HalfKernel::hasHidden() {
  std::optional<Num> hidden;
  auto add = [&](Num condition) { hidden = hidden ? *hidden | condition : condition; };
  int64_t columns = tiling.columns;
  if (!pieces.flipped && shape.keys % columns != 0)
    add(position.key + columns > shape.keys);
  if (pieces.flipped && shape.queries % columns != 0)
    add(position.query + columns > shape.queries);
  int64_t keys = pieces.flipped ? tiling.warpRows() : columns;
  if (shape.hidesBehind())
    add(position.key + (keys - 1) > position.query + shape.right);
  if (shape.hidesBefore())
    add(position.query + ((pieces.flipped ? columns : tiling.warpRows()) - 1) > position.key + shape.left);
  return hidden;
}

Nums HalfKernel::scoresOf(const LeftRows &left, const PartReader &right, Num shift, int64_t depth,
                          Nums *factors) {
  auto words = [&](int64_t i, int64_t step) { return left.words(i, step); };
  return scoresFrom(multiplyByRows(k, type, pieces, words, right, shift, depth / 16, zeros(pieces.size())),
                    factors);
}

Nums HalfKernel::scoresFrom(Nums values, Nums *factors) {
  if (scores.areShaped()) {
    for (Num &value : values)
      value = value * scores.queryScale();
    scores.bend(part, position, values, factors);
  }
  std::optional<Num> hidden = hasHidden();
  if (!hidden)
    return values;
  auto hide = [&] {
    Nums some = values;
    scores.hide(part, position, some);
    return some;
  };
  return k.choose(*hidden, hide, [&] { return values; });
}

Nums HalfKernel::dropFactors() {
  Nums factors;
  if (dropout.isOn())
    for (Num kept : dropout.kept(part, position))
      factors.push_back(select(kept, k.f32(shape.dropout.kept), k.f32(0)));
  return factors;
}

Num HalfKernel::maximum(Num a, Num b) {
  return {*a.kernel, arith::MaxNumFOp::create(a.kernel->b, a.kernel->loc, a.value, b.value)};
}

Nums HalfKernel::walk(Num count, bool mayBeNone, int64_t stageNumbers, Nums carried, Begin begin, Body body) {
  Nums results = walkBlocks(count, stageNumbers, std::move(carried), begin, body);
  if (mayBeNone && !tiling.isHeld)
    waitForFills(k);
  return results;
}

Nums HalfKernel::walkBlocks(Num count, int64_t stageNumbers, Nums carried, Begin begin, Body body) {
  Num none = k.index(0), one = k.index(1);
  if (tiling.stages == 1)
    return k.loop(none, count, one, carried, [&](Num n, Nums carried) {
      k.barrier(); // the last block is read
      begin(n, none);
      waitForFills(k);
      k.barrier();
      return body(n, none, carried);
    });
  auto shift = [&](Num n) { return n % 2 * stageNumbers; };
  k.when(none < count, [&] { begin(none, none); });
  return k.loop(none, count, one, carried, [&](Num n, Nums carried) {
    waitForFills(k);
    k.barrier(); // this block is there, the one before it is read
    k.when(n + 1 < count, [&] { begin(n + 1, shift(n + 1)); });
    return body(n, shift(n), carried);
  });
}

void HalfKernel::writeRows(const Nums &sums, int64_t width, const GlobalRows &rows) {
  MatrixTile staged = tile(0, tiling.rows(), width);
  k.barrier(); // what lay there is read
  storePieces(k, type, sumsOf(width), sums, staged, warpRow);
  k.barrier();
  storeTile(k, staged, rows, tiling.threads());
}

Nums HalfSoftmax::pack() const {
  Nums all = maximum;
  all.append(sum);
  all.append(values);
  return all;
}

HalfSoftmax HalfSoftmax::unpack(const Nums &all, size_t rows) {
  ArrayRef<Num> list = all;
  return {Nums(list.take_front(rows)), Nums(list.slice(rows, rows)), Nums(list.drop_front(2 * rows))};
}

HalfSoftmax QueryRows::startOf(int64_t width, const std::optional<Memory> &sinks) const {
  size_t rows = part.rows.size();
  Num none = k.f32(-std::numeric_limits<double>::infinity());
  HalfSoftmax start{Nums(rows, none), zeros(rows), zeros(sumsOf(width).size())};
  if (!sinks)
    return start;
  // The lanes of a row, which add up in the end, count it once.
  start.maximum = Nums(rows, Scores::sink(k, *sinks, position.head) * (1 / unit));
  start.sum = Nums(rows, select(part.columns.thread == 0, k.f32(1), k.f32(0)));
  return start;
}

void QueryRows::weigh(Nums &values, HalfSoftmax &softmax) {
  Nums kept;
  if (dropout.isOn())
    kept = dropout.kept(part, position);
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
      if (dropout.isOn()) // finishRows() multiplies those that stay
        row[c] = select(kept[r * columns + c], row[c], k.f32(0));
    }
    // A lane sums its own columns; the lanes of a row come together at the end.
    softmax.sum[r] = fma(softmax.sum[r], rescale, sum);
    softmax.maximum[r] = top;
    scaleRow(softmax.values, r, rescale);
  }
}

void QueryRows::scaleRow(Nums &values, int64_t r, Num factor) {
  Pieces all{tiling.rowTiles, static_cast<int64_t>(values.size()) / (4 * tiling.rowTiles)};
  for (int64_t j = 0; j < all.columnTiles; ++j)
    for (int64_t side = 0; side < 2; ++side) {
      Num &value = values[all.number(r / 2, j, r % 2 * 2 + side)];
      value = value * factor;
    }
}

Nums QueryRows::finishRows(HalfSoftmax softmax, Memory lse, Num first, Num left) {
  for (int64_t r = 0; r < part.rows.size(); ++r) {
    Num sum = k.reduceLanes(softmax.sum[r], 4, [](Num a, Num b) { return a + b; }), isEmpty = sum == 0;
    scaleRow(softmax.values, r, select(isEmpty, k.f32(0), shape.dropout.kept / sum));
    Num row = warpRow + part.rows.at(r);
    k.when((part.columns.thread == 0) & (row < left), [&] {
      Num none = k.f32(-std::numeric_limits<double>::infinity());
      Num total = fma(softmax.maximum[r] * unit, k.f32(kLn2), k.log(sum));
      k.store(lse, first + row, select(isEmpty, none, total));
    });
  }
  return softmax.values;
}

} // namespace kedge::lower::gpu::attention
