// Y or X in tiles: rows are channels of the result, columns its positions in all images, and the sums run
// over channels of the source and taps. All elements of a step have one tap, so a thread finds its position's
// place once a step.
#include "passes/Lower/Gpu/library/Convolution.h"
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/ProductTiles.h"

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {
namespace {

/// How many channels of the source a step takes: many, unless that wastes more than a quarter of them.
int64_t channelsOfStep(int64_t depth, int64_t most) {
  for (int64_t channels : {16, 8})
    if (channels <= most && ceilDiv(depth, channels) * channels * 4 <= depth * 5)
      return channels;
  return 4;
}

struct ImagePlan {
  const ImageProduct &product;
  TileShape tile;
  int64_t phases = 1, columns; ///< columns: positions of a phase, of all images
  int64_t rowTiles, columnTiles, channelSteps, parts, channelStepsOfPart;
  bool isPointwise; ///< positions read what lies at their own place: neighbours are neighbours
  bool isWhole;     ///< neighbouring positions of the result are neighbours in memory

  explicit ImagePlan(const ImageProduct &product) : product(product) {
    columns = product.batch;
    isPointwise = isWhole = true;
    for (const Walk &walk : product.walks) {
      phases *= walk.phases, columns *= walk.positions;
      isWhole &= walk.phases == 1;
      isPointwise &= walk.taps == 1 && walk.phases == 1 && walk.scale == 1 && walk.start[0] == 0 &&
                     walk.source == walk.result;
    }
    tile = TileShape::of(product.rows, columns, product.groups * phases, product.sum);
    tile.depth = channelsOfStep(product.depth, tile.depth);
    rowTiles = tile.rowTiles(product.rows), columnTiles = tile.columnTiles(columns);
    channelSteps = ceilDiv(product.depth, tile.depth);
    constexpr int64_t kStepsOfPart = 8;
    int64_t blocks = rowTiles * columnTiles * product.groups * phases;
    int64_t operands = product.batch * product.groups * product.depth * product.sourceSize() +
                       product.groups * product.groupWeights();
    parts = partsOf(blocks, channelSteps, ceilDiv(kStepsOfPart, product.taps()), product.resultElements(),
                    operands);
    channelStepsOfPart = ceilDiv(channelSteps, parts);
  }

  /// Neighbouring positions that are read, or written, at once.
  int64_t readWidth() const { return isPointwise ? vectorWidth(product.storage, {product.sourceSize()}) : 1; }
  int64_t writeWidth() const { return isWhole ? vectorWidth(product.sum, {product.resultSize()}) : 1; }

  int64_t stepWeights() const { return tile.depth * tile.rows; }
  /// [group][row tile][step of channels][tap][channel of the step][row of the tile], zeros beyond.
  SmallVector<int64_t> packedShape() const {
    return {product.groups, rowTiles, channelSteps, product.taps(), tile.depth, tile.rows};
  }
  int64_t packedElements() const {
    return product.groups * rowTiles * channelSteps * product.taps() * stepWeights();
  }
};

/// The weights in the order in which tiles read them.
void packWeights(CallKernels &kernels, const ImagePlan &plan, Operand packed) {
  const ImageProduct &p = plan.product;
  kernels.forEach("convolution_pack", plan.packedElements(), {p.filter, packed},
                  [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
                    Nums at = k.split(flat, plan.packedShape());
                    Num row = at[1] * plan.tile.rows + at[5], channel = at[2] * plan.tile.depth + at[4];
                    Num inside = (row < p.rows) & (channel < p.depth);
                    Num place = at[0] * p.groupWeights() + row * p.rowStep + channel * p.depthStep + at[3];
                    Num weight = k.load(memory[0], select(inside, place, k.index(0)));
                    k.store(memory[1], flat, select(inside, weight, k.zeros(p.sum, 1)));
                  });
}

/// A position of the result: its image, its place in each dimension's phase; columns beyond the last are not
/// valid.
struct Position {
  Num isValid, image;
  Nums at;
};

class ImageKernel {
public:
  ImageKernel(KernelBuilder &k, const ImagePlan &plan, ArrayRef<Memory> memory)
      : k(k), plan(plan), p(plan.product), source(memory[0]), packed(memory[1]), result(memory[2]),
        tiles(k, plan.tile, p.sum, 0, 0),
        weightMoves{plan.tile.depth, plan.tile.rows, ProductTiles::widthOf(p.sum)},
        sourceMoves{plan.tile.depth, plan.tile.columns, plan.readWidth()} {
    if (memory.size() > 3)
      bias = memory[3];
    Nums at = k.split(k.block(), {p.walks[0].phases, p.walks[1].phases, p.walks[2].phases, p.groups,
                                  plan.parts, plan.columnTiles, plan.rowTiles});
    for (int d = 0; d < 3; ++d)
      phases.push_back(Phase::of(k, p.walks[d], at[d]));
    group = at[3], part = at[4], firstColumn = at[5] * plan.tile.columns, rowTile = at[6];
  }

  void run() {
    findSource();
    Num firstStep = part * plan.channelStepsOfPart;
    Num steps = plan.parts == 1 ? k.index(plan.channelSteps)
                                : min(k.index(plan.channelStepsOfPart), plan.channelSteps - firstStep);
    for (const Phase &phase : phases)
      steps = steps * phase.count;
    Nums sums = tiles.sumSteps(
        steps, {firstStep, k.index(0), k.index(0), k.index(0)}, [&](Nums place) { return advance(place); },
        [&](const Nums &place) { return load(place); },
        [&](Num buffer, const Nums &values) { put(buffer, values); });
    tiles.forEachGroup(sums, [&](Num row, Num column, ArrayRef<Num> values) { store(row, column, values); });
  }

private:
  Position positionOf(Num column) const {
    Nums at = k.split(column, {p.batch, p.walks[0].positions, p.walks[1].positions, p.walks[2].positions});
    return {plan.columns % plan.tile.columns == 0 ? always(k) : column < plan.columns,
            at[0],
            {at[1], at[2], at[3]}};
  }

  /// Where the thread's position reads at a tap of zero steps.
  void findSource() {
    Position position = positionOf(firstColumn + sourceMoves.place(k));
    isColumn = position.isValid;
    for (int d = 0; d < 3; ++d)
      origin.push_back(position.at[d] * p.walks[d].scale + phases[d].start);
    plane = (position.image * p.groups + group) * p.depth;
  }

  /// Taps first, the last dimension fastest, then channels.
  Nums advance(Nums place) const {
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

  Nums load(const Nums &place) const {
    Nums values = loadWeights(place);
    values.append(loadSource(place));
    return values;
  }

  Nums loadWeights(const Nums &place) const {
    Num tap = p.tap(phases, ArrayRef<Num>(place).drop_front());
    Num step = ((group * plan.rowTiles + rowTile) * plan.channelSteps + place[0]) * p.taps() + tap;
    Memory from = k.shifted(packed, step * plan.stepWeights());
    Num thread = (k.thread() * weightMoves.width) % plan.stepWeights();
    Nums values;
    for (int64_t move = 0; move < weightMoves.count(); ++move)
      values.push_back(k.load(from, thread + move * kTileThreads * weightMoves.width, weightMoves.width));
    return values;
  }

  Nums loadSource(const Nums &place) const {
    Num inside = isColumn;
    Nums at;
    for (int d = 0; d < 3; ++d) {
      at.push_back(origin[d] + place[d + 1] * p.walks[d].step);
      if (p.walks[d].leaves())
        inside = inside & isWithin(at[d], p.walks[d].source);
    }
    Num channel = place[0] * plan.tile.depth + sourceMoves.line(k, 0) % plan.tile.depth;
    Num from = (plane + channel) * p.sourceSize() + flatten(at, p.sourceSpace());
    Nums values;
    for (int64_t move = 0; move < sourceMoves.count(); ++move)
      values.push_back(loadChannel(from, channel, move * sourceMoves.lineStep(), inside));
    return values;
  }

  /// The thread's positions in the channel that is `next` further than `channel`, which lies at `from`; zeros
  /// outside.
  Num loadChannel(Num from, Num channel, int64_t next, Num inside) const {
    int64_t further = next * p.sourceSize();
    if (p.depth % plan.tile.depth != 0) {
      inside = inside & (channel + next < p.depth);
      from = from + further, further = 0;
    }
    // What lies outside reads the first channels instead: no branch around the load.
    Memory base = k.shifted(source, select(inside, from, k.index(0)));
    Num value = k.load(base, k.index(further), sourceMoves.width);
    return select(inside, value, k.zeros(p.sum, sourceMoves.width));
  }

  void put(Num buffer, const Nums &values) {
    weightMoves.whenMoving(k, [&] {
      for (int64_t move = 0; move < weightMoves.count(); ++move)
        tiles.storeA(buffer, weightMoves.line(k, move), weightMoves.place(k), values[move]);
    });
    sourceMoves.whenMoving(k, [&] {
      for (int64_t move = 0; move < sourceMoves.count(); ++move)
        tiles.storeB(buffer, sourceMoves.line(k, move), sourceMoves.place(k),
                     values[weightMoves.count() + move]);
    });
  }

  void store(Num row, Num column, ArrayRef<Num> values) {
    row = rowTile * plan.tile.rows + row, column = firstColumn + column;
    int64_t width = values.size() % plan.writeWidth() == 0 ? plan.writeWidth() : 1;
    k.when(p.rows % plan.tile.rows == 0 ? always(k) : row < p.rows, [&] {
      Num channel = group * p.rows + row;
      for (size_t v = 0; v < values.size(); v += width)
        storePositions(channel, column + int64_t(v), values.slice(v, width));
    });
  }

  void storePositions(Num channel, Num column, ArrayRef<Num> values) {
    Position position = positionOf(column);
    Num isValid = position.isValid;
    Nums at;
    for (int d = 0; d < 3; ++d) {
      const Walk &walk = p.walks[d];
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

  KernelBuilder &k;
  const ImagePlan &plan;
  const ImageProduct &p;
  Memory source, packed, result;
  std::optional<Memory> bias;
  ProductTiles tiles;
  TileMoves weightMoves, sourceMoves;
  SmallVector<Phase> phases;
  Num group, part, rowTile, firstColumn;
  Num isColumn, plane; ///< plane: number of the first channel's plane of the source
  Nums origin;
};

} // namespace

void tiledImages(CallKernels &kernels, const ImageProduct &product) {
  ImagePlan plan(product);
  Operand packed = kernels.workspace(product.sum, plan.packedElements());
  Operand sums = partialsOf(kernels, product.result, product.sum, plan.parts, product.resultElements());
  packWeights(kernels, plan, packed);
  SmallVector<Operand> operands = {product.source, packed, sums};
  if (product.bias && plan.parts == 1)
    operands.push_back(*product.bias);
  int64_t blocks = plan.phases * product.groups * plan.parts * plan.columnTiles * plan.rowTiles;
  kernels.kernel("convolution", blocks, kTileThreads, operands,
                 [&](KernelBuilder &k, ArrayRef<Memory> memory) { ImageKernel(k, plan, memory).run(); });
  joinParts(kernels, sums, product.result, plan.parts, product.resultElements(), product.bias,
            product.groups * product.rows, product.resultSize());
}

} // namespace kedge::lower::gpu::convolution
