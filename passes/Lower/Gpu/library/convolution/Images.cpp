// What kernels of Y or X have in common.
#include "passes/Lower/Gpu/library/convolution/Images.h"
#include "passes/Lower/Gpu/library/MatmulTiles.h"
#include <numeric>

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {

ImagePlan::ImagePlan(const ImageMatmul &product) : product(product) {
  columns = product.batch;
  isPointwise = isWhole = true;
  for (const TapWalk &walk : product.walks) {
    phases *= walk.phases, columns *= walk.positions;
    isWhole &= walk.phases == 1;
    isPointwise &= walk.taps == 1 && walk.phases == 1 && walk.scale == 1 && walk.start[0] == 0 &&
                   walk.source == walk.result;
  }
}

void ImagePlan::cut(int64_t rows, int64_t tileWidth, int64_t tileDepth) {
  tileRows = rows, tileColumns = tileWidth, depth = tileDepth;
  rowTiles = ceilDiv(product.rows, tileRows), columnTiles = ceilDiv(columns, tileColumns);
  channelSteps = ceilDiv(product.depth, depth);
  constexpr int64_t kStepsOfPart = 8;
  int64_t whole = rowTiles * columnTiles * product.groups * phases;
  int64_t operands = product.batch * product.groups * product.depth * product.sourceSize() +
                     product.groups * product.groupWeights();
  parts =
      partsOf(whole, channelSteps, ceilDiv(kStepsOfPart, product.taps()), product.resultElements(), operands);
  channelStepsOfPart = ceilDiv(channelSteps, parts);
}

void packWeights(CallKernels &kernels, const ImagePlan &plan, Operand packed, bool rowsFirst) {
  const ImageMatmul &p = plan.product;
  SmallVector<int64_t> shape{p.groups, plan.rowTiles, plan.channelSteps, p.taps(), plan.depth, plan.tileRows};
  if (rowsFirst)
    std::swap(shape[4], shape[5]);
  kernels.forEach("convolution_pack", plan.packedElements(), {p.filter, packed},
                  [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
                    Nums at = k.split(flat, shape);
                    if (rowsFirst)
                      std::swap(at[4], at[5]);
                    Num row = at[1] * plan.tileRows + at[5], channel = at[2] * plan.depth + at[4];
                    Num inside = (row < p.rows) & (channel < p.depth);
                    Num place = at[0] * p.groupWeights() + row * p.rowStep + channel * p.depthStep + at[3];
                    Num weight = k.load(memory[0], select(inside, place, k.index(0)));
                    k.store(memory[1], flat, select(inside, weight, k.zeros(p.sum, 1)));
                  });
}

ImageBlock::ImageBlock(KernelBuilder &k, const ImagePlan &plan, ArrayRef<Memory> memory)
    : k(k), plan(plan), p(plan.product), source(memory[0]), packed(memory[1]), result(memory[2]) {
  if (memory.size() > 3)
    bias = memory[3];
  Nums at = k.split(k.block(), {p.walks[0].phases, p.walks[1].phases, p.walks[2].phases, p.groups, plan.parts,
                                plan.columnTiles, plan.rowTiles});
  for (int d = 0; d < 3; ++d)
    phases.push_back(TapPhase::of(k, p.walks[d], at[d]));
  group = at[3], part = at[4], firstColumn = at[5] * plan.tileColumns, rowTile = at[6];
}

Num ImageBlock::steps() const {
  Num steps = plan.parts == 1 ? k.index(plan.channelSteps)
                              : min(k.index(plan.channelStepsOfPart), plan.channelSteps - firstStep());
  for (const TapPhase &phase : phases)
    steps = steps * phase.count;
  return steps;
}

Nums ImageBlock::advance(Nums place) const {
  Num carry = k.index(1);
  for (int d = 3; d-- > 0;) {
    if (p.walks[d].mostTaps() == 1)
      continue;
    Num next = place[d + 1] + carry, wraps = next == phases[d].count;
    place[d + 1] = select(wraps, k.index(0), next);
    carry = k.convert(wraps, k.indexType);
  }
  place[0] = min(place[0] + carry, k.index(plan.channelSteps - 1)); // past the last step: any
  return place;
}

Num ImageBlock::packedPlace(const Nums &place) const {
  Num tap = p.tap(phases, ArrayRef<Num>(place).drop_front());
  return (((group * plan.rowTiles + rowTile) * plan.channelSteps + place[0]) * p.taps() + tap) *
         plan.stepWeights();
}

Position ImageBlock::positionOf(Num column) const {
  Nums at = k.split(column, {p.batch, p.walks[0].positions, p.walks[1].positions, p.walks[2].positions});
  return {
      plan.columns % plan.tileColumns == 0 ? always(k) : column < plan.columns, at[0], {at[1], at[2], at[3]}};
}

void ImageBlock::readFor(Num column) {
  Position position = positionOf(firstColumn + column);
  isColumn = position.isValid;
  for (int d = 0; d < 3; ++d)
    origin.push_back(position.at[d] * p.walks[d].scale + phases[d].start);
  plane = (position.image * p.groups + group) * p.depth;
}

ImageBlock::SourcePosition ImageBlock::sourcePosition(const Nums &place) const {
  Num inside = isColumn;
  Nums at;
  for (int d = 0; d < 3; ++d) {
    at.push_back(origin[d] + place[d + 1] * p.walks[d].step);
    if (p.walks[d].leaves())
      inside = inside & isWithin(at[d], p.walks[d].source);
  }
  return {inside, plane * p.sourceSize() + flatten(at, p.sourceSpace())};
}

Num ImageBlock::loadChannel(Num from, Num channel, int64_t next, Num inside, unsigned width) const {
  int64_t further = next * p.sourceSize();
  if (p.depth % plan.depth != 0) {
    inside = inside & (channel + next < p.depth);
    from = from + further, further = 0;
  }
  // What lies outside reads the first channels instead: no branch around the load.
  Memory base = k.shifted(source, select(inside, from, k.index(0)));
  Num value = k.load(base, k.index(further), width);
  return select(inside, value, k.zeros(source.compute, width));
}

void ImageBlock::store(Num row, Num column, ArrayRef<Num> values) {
  row = rowTile * plan.tileRows + row, column = firstColumn + column;
  int64_t width = std::gcd<int64_t>(values.size(), plan.writeWidth());
  k.when(p.rows % plan.tileRows == 0 ? always(k) : row < p.rows, [&] {
    Num channel = group * p.rows + row;
    for (size_t v = 0; v < values.size(); v += width)
      storePositions(channel, column + int64_t(v), values.slice(v, width));
  });
}

void ImageBlock::storePositions(Num channel, Num column, ArrayRef<Num> values) {
  Position position = positionOf(column);
  Num isValid = position.isValid;
  Nums at;
  for (int d = 0; d < 3; ++d) {
    const TapWalk &walk = p.walks[d];
    at.push_back(phases[d].number + position.at[d] * walk.phases);
    if (walk.phases * walk.positions != walk.result)
      isValid = isValid & (at[d] < walk.result);
  }
  k.when(isValid, [&] {
    Num place =
        (position.image * (p.groups * p.rows) + channel) * p.resultSize() + flatten(at, p.resultSpace());
    Num value = k.vector(values);
    if (bias)
      value = value + k.vector(Nums(values.size(), k.load(*bias, channel)));
    k.store(result, part * p.resultElements() + place, value);
  });
}

void generateImageKernels(CallKernels &kernels, const ImagePlan &plan, Operand packed,
                          CallKernels::Body body) {
  const ImageMatmul &product = plan.product;
  Operand sums = partialsOf(kernels, product.result, product.sum, plan.parts, product.resultElements());
  SmallVector<Operand> operands = {product.source, packed, sums};
  if (product.bias && plan.parts == 1)
    operands.push_back(*product.bias);
  kernels.kernel("convolution", plan.blocks(), kTileThreads, operands, body);
  joinParts(kernels, sums, product.result, plan.parts, product.resultElements(), product.bias,
            product.groups * product.rows, product.resultSize());
}

} // namespace kedge::lower::gpu::convolution
