// What kernels of the weights' gradient have in common.
#include "passes/Lower/Gpu/library/convolution/Weights.h"

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {

WeightPlan::WeightPlan(const Convolution &call)
    : call(call), c(call.shape), rows(c.groupFilters()), columns(c.groupChannels() * c.taps()),
      positions(c.batch * c.outSize()), isPointwise(true) {
  for (int d = 0; d < 3; ++d) {
    walks[d] = TapWalk::forward(c, d);
    isPointwise &= c.kernel[d] == 1 && c.stride[d] == 1 && c.pad[d] == 0 && c.in[d] == c.out[d];
  }
}

void WeightPlan::cut(int64_t ofRows, int64_t ofColumns, int64_t ofDepth) {
  tileRows = ofRows, tileColumns = ofColumns, depth = ofDepth;
  constexpr int64_t kPositionsOfPart = 256;
  rowTiles = ceilDiv(rows, tileRows), columnTiles = ceilDiv(columns, tileColumns);
  int64_t steps = ceilDiv(positions, depth);
  int64_t operands = c.batch * (c.channels * c.inSize() + c.filters * c.outSize());
  parts = partsOf(rowTiles * columnTiles * c.groups, steps, kPositionsOfPart / depth, elements(), operands);
  stepsOfPart = ceilDiv(steps, parts);
}

WeightBlock::WeightBlock(KernelBuilder &k, const WeightPlan &plan, ArrayRef<Memory> memory)
    : k(k), plan(plan), c(plan.c), image(memory[0]), result(memory[1]), filter(memory[2]),
      rowMoves{plan.tileRows, plan.depth, plan.resultWidth()},
      columnMoves{plan.tileColumns, plan.depth, plan.imageWidth()} {
  Nums at = k.split(k.block(), {c.groups, plan.parts, plan.columnTiles, plan.rowTiles});
  group = at[0], part = at[1], firstColumn = at[2] * plan.tileColumns, firstRow = at[3] * plan.tileRows;
  begin = part * (plan.stepsOfPart * plan.depth);
  end = min(begin + plan.stepsOfPart * plan.depth, k.index(plan.positions));
}

/// With tiles of one tap there is one column to know: the others are channels further.
void WeightBlock::findColumns() {
  int64_t count = plan.hasTapTiles ? 1 : columnMoves.count();
  for (int64_t move = 0; move < count; ++move)
    columns.push_back(columnAt(firstColumn + columnMoves.line(k, move) % plan.tileColumns));
}

WeightBlock::Column WeightBlock::columnAt(Num number) const {
  number = min(number, k.index(plan.columns - 1));
  Nums at = plan.hasTapTiles ? k.split(number, {c.kernel[0], c.kernel[1], c.kernel[2], c.groupChannels()})
                             : k.split(number, {c.groupChannels(), c.kernel[0], c.kernel[1], c.kernel[2]});
  if (plan.hasTapTiles)
    std::rotate(at.begin(), at.begin() + 3, at.end());
  Nums taps;
  for (int d = 0; d < 3; ++d)
    taps.push_back(at[d + 1] * c.dilation[d]);
  return {at[0] * c.inSize() + flatten(taps, c.in), taps};
}

WeightBlock::Position WeightBlock::positionOf(Num step, const TileMoves &moves) const {
  Num position = step + moves.place(k);
  Nums at = k.split(position, {c.batch, c.out[0], c.out[1], c.out[2]});
  ArrayRef<Num> space = ArrayRef<Num>(at).drop_front();
  return {position < end, at[0], flatten(space, c.out), Nums(space)};
}

Nums WeightBlock::load(Num step) const {
  Nums values;
  Position position = positionOf(step, rowMoves);
  Num plane = position.image * c.filters + group * plan.rows;
  for (int64_t move = 0; move < rowMoves.count(); ++move) {
    Num row = min(firstRow + rowMoves.line(k, move) % plan.tileRows, k.index(plan.rows - 1));
    Num at = (plane + row) * c.outSize() + position.place;
    values.push_back(loadIf(position.isValid, result, at, rowMoves.width));
  }
  loadImage(positionOf(step, columnMoves), values);
  return values;
}

Num WeightBlock::isInside(const Position &position, const Nums &origin, const Column &column) const {
  Num inside = position.isValid;
  for (int d = 0; d < 3; ++d)
    if (plan.walks[d].leaves())
      inside = inside & isWithin(origin[d] + column.taps[d], c.in[d]);
  return inside;
}

void WeightBlock::loadImage(const Position &position, Nums &values) const {
  Nums origin;
  for (int d = 0; d < 3; ++d)
    origin.push_back(position.at[d] * c.stride[d] - c.pad[d]);
  Num from = (position.image * c.channels + group * c.groupChannels()) * c.inSize() + flatten(origin, c.in);
  if (!plan.hasTapTiles) {
    for (const Column &column : columns)
      values.push_back(
          loadIf(isInside(position, origin, column), image, from + column.distance, columnMoves.width));
    return;
  }
  Num inside = isInside(position, origin, columns[0]);
  Memory base = k.shifted(image, select(inside, from + columns[0].distance, k.index(0)));
  for (int64_t move = 0; move < columnMoves.count(); ++move) {
    Num value = k.load(base, k.index(move * columnMoves.lineStep() * c.inSize()), columnMoves.width);
    values.push_back(select(inside, value, k.zeros(image.compute, columnMoves.width)));
  }
}

/// Zeros where there is nothing, without a branch around the load.
Num WeightBlock::loadIf(Num inside, Memory from, Num at, int64_t width) const {
  Num value = k.load(from, select(inside, at, k.index(0)), width);
  return select(inside, value, k.zeros(from.compute, width));
}

Num WeightBlock::placeOf(Num row, Num column) const {
  if (plan.hasTapTiles)
    column = column % c.groupChannels() * c.taps() + column / c.groupChannels();
  return part * plan.elements() + (group * plan.rows + row) * plan.columns + column;
}

void WeightBlock::store(Num row, Num column, ArrayRef<Num> values) {
  row = firstRow + row, column = firstColumn + column;
  bool isDense = !plan.hasTapTiles || c.taps() == 1;
  k.when(row < plan.rows, [&] {
    if (isDense && plan.columns % int64_t(values.size()) == 0)
      return k.when(column < plan.columns, [&] { k.store(filter, placeOf(row, column), k.vector(values)); });
    for (size_t v = 0; v < values.size(); ++v)
      k.when(column + int64_t(v) < plan.columns,
             [&] { k.store(filter, placeOf(row, column + int64_t(v)), values[v]); });
  });
}

void generateWeightKernels(CallKernels &kernels, const WeightPlan &plan, CallKernels::Body body) {
  const Convolution &call = plan.call;
  Operand sums = partialsOf(kernels, call.filter, call.sum, plan.parts, plan.elements());
  int64_t blocks = plan.c.groups * plan.parts * plan.columnTiles * plan.rowTiles;
  kernels.kernel("convolution_weights", blocks, kTileThreads, {call.image, call.result, sums}, body);
  joinParts(kernels, sums, call.filter, plan.parts, plan.elements());
}

} // namespace kedge::lower::gpu::convolution
