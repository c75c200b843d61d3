// The gradient of the weights in tiles: rows are filters, columns channels and taps, and the sums run over
// the positions of all images, in parts where too few tiles would fill a device.
#include "passes/Lower/Gpu/library/Convolution.h"
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/ProductTiles.h"

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {
namespace {

struct WeightPlan {
  const Convolution &call;
  const ConvShape &c;
  Walks walks;
  int64_t rows, columns, positions; ///< of a group
  TileShape tile;
  int64_t rowTiles, columnTiles, steps, parts, stepsOfPart;
  bool isPointwise; ///< positions read what lies at their own place

  explicit WeightPlan(const Convolution &call)
      : call(call), c(call.shape), rows(c.groupFilters()), columns(c.groupChannels() * c.taps()),
        positions(c.batch * c.outSize()) {
    isPointwise = true;
    for (int d = 0; d < 3; ++d) {
      walks[d] = Walk::forward(c, d);
      isPointwise &= c.kernel[d] == 1 && c.stride[d] == 1 && c.pad[d] == 0 && c.in[d] == c.out[d];
    }
    constexpr int64_t kStepsOfPart = 16;
    tile = TileShape::of(rows, columns, c.groups * std::max<int64_t>(1, positions / 256), call.sum);
    rowTiles = tile.rowTiles(rows), columnTiles = tile.columnTiles(columns);
    steps = ceilDiv(positions, tile.depth);
    int64_t operands = c.batch * (c.channels * c.inSize() + c.filters * c.outSize());
    parts = partsOf(rowTiles * columnTiles * c.groups, steps, kStepsOfPart, elements(), operands);
    stepsOfPart = ceilDiv(steps, parts);
  }

  int64_t elements() const { return c.groups * rows * columns; }
  /// Neighbouring positions that are read at once.
  int64_t resultWidth() const { return vectorWidth(call.storage, {c.outSize()}); }
  int64_t imageWidth() const { return isPointwise ? vectorWidth(call.storage, {c.inSize()}) : 1; }
};

class WeightKernel {
public:
  WeightKernel(KernelBuilder &k, const WeightPlan &plan, ArrayRef<Memory> memory)
      : k(k), plan(plan), c(plan.c), image(memory[0]), result(memory[1]), filter(memory[2]),
        // Lines of shared memory are written along their depth: the pad spreads them over the banks.
        tiles(k, plan.tile, plan.call.sum, ProductTiles::widthOf(plan.call.sum),
              ProductTiles::widthOf(plan.call.sum)),
        rowMoves{plan.tile.rows, plan.tile.depth, plan.resultWidth()},
        columnMoves{plan.tile.columns, plan.tile.depth, plan.imageWidth()} {
    Nums at = k.split(k.block(), {c.groups, plan.parts, plan.columnTiles, plan.rowTiles});
    group = at[0], part = at[1], firstColumn = at[2] * plan.tile.columns, firstRow = at[3] * plan.tile.rows;
    begin = part * (plan.stepsOfPart * plan.tile.depth);
    end = min(begin + plan.stepsOfPart * plan.tile.depth, k.index(plan.positions));
  }

  void run() {
    k.residentBlocks(1); // otherwise ptxas aims at 64 registers and spills the few that are more
    for (int64_t move = 0; move < columnMoves.count(); ++move)
      columns.push_back(columnAt(firstColumn + columnMoves.line(k, move) % plan.tile.columns));
    Num steps = (end - begin + (plan.tile.depth - 1)) / plan.tile.depth;
    Nums sums = tiles.sumSteps(
        steps, {begin}, [&](Nums place) -> Nums { return {place[0] + plan.tile.depth}; },
        [&](const Nums &place) { return load(place[0]); },
        [&](Num buffer, const Nums &values) { put(buffer, values); });
    tiles.forEachGroup(sums, [&](Num row, Num column, ArrayRef<Num> values) { store(row, column, values); });
  }

private:
  /// A column's channel and tap: their distance from a position's place, and the tap's distances along the
  /// dimensions.
  struct Column {
    Num distance;
    Nums taps;
  };
  Column columnAt(Num number) const {
    Nums at = k.split(min(number, k.index(plan.columns - 1)),
                      {c.groupChannels(), c.kernel[0], c.kernel[1], c.kernel[2]});
    Nums taps;
    for (int d = 0; d < 3; ++d)
      taps.push_back(at[d + 1] * c.dilation[d]);
    return {at[0] * c.inSize() + flatten(taps, c.in), taps};
  }

  /// A position of a step, past the part's end not valid.
  struct Position {
    Num isValid, image, place;
    Nums at;
  };
  Position positionOf(Num step, const TileMoves &moves) const {
    Num position = step + moves.place(k);
    Nums at = k.split(position, {c.batch, c.out[0], c.out[1], c.out[2]});
    ArrayRef<Num> space = ArrayRef<Num>(at).drop_front();
    return {position < end, at[0], flatten(space, c.out), Nums(space)};
  }

  Nums load(Num step) const {
    Nums values;
    Position position = positionOf(step, rowMoves);
    Num plane = position.image * c.filters + group * plan.rows;
    for (int64_t move = 0; move < rowMoves.count(); ++move) {
      Num row = min(firstRow + rowMoves.line(k, move) % plan.tile.rows, k.index(plan.rows - 1));
      Num at = (plane + row) * c.outSize() + position.place;
      values.push_back(loadIf(position.isValid, result, at, rowMoves.width));
    }
    loadImage(positionOf(step, columnMoves), values);
    return values;
  }

  void loadImage(const Position &position, Nums &values) const {
    Nums origin;
    for (int d = 0; d < 3; ++d)
      origin.push_back(position.at[d] * c.stride[d] - c.pad[d]);
    Num from = (position.image * c.channels + group * c.groupChannels()) * c.inSize() + flatten(origin, c.in);
    for (const Column &column : columns) {
      Num inside = position.isValid;
      for (int d = 0; d < 3; ++d)
        if (plan.walks[d].leaves())
          inside = inside & isWithin(origin[d] + column.taps[d], c.in[d]);
      values.push_back(loadIf(inside, image, from + column.distance, columnMoves.width));
    }
  }

  /// Zeros where there is nothing, without a branch around the load.
  Num loadIf(Num inside, Memory from, Num at, int64_t width) const {
    Num value = k.load(from, select(inside, at, k.index(0)), width);
    return select(inside, value, k.zeros(from.compute, width));
  }

  void put(Num buffer, const Nums &values) {
    rowMoves.whenMoving(k, [&] {
      for (int64_t move = 0; move < rowMoves.count(); ++move)
        for (int64_t lane = 0; lane < rowMoves.width; ++lane)
          tiles.storeA(buffer, rowMoves.place(k) + lane, rowMoves.line(k, move), k.lane(values[move], lane));
    });
    columnMoves.whenMoving(k, [&] {
      for (int64_t move = 0; move < columnMoves.count(); ++move)
        for (int64_t lane = 0; lane < columnMoves.width; ++lane)
          tiles.storeB(buffer, columnMoves.place(k) + lane, columnMoves.line(k, move),
                       k.lane(values[rowMoves.count() + move], lane));
    });
  }

  void store(Num row, Num column, ArrayRef<Num> values) {
    row = firstRow + row, column = firstColumn + column;
    k.when(row < plan.rows, [&] {
      Num place = part * plan.elements() + (group * plan.rows + row) * plan.columns + column;
      if (plan.columns % int64_t(values.size()) == 0)
        return k.when(column < plan.columns, [&] { k.store(filter, place, k.vector(values)); });
      for (size_t v = 0; v < values.size(); ++v)
        k.when(column + int64_t(v) < plan.columns, [&] { k.store(filter, place + int64_t(v), values[v]); });
    });
  }

  KernelBuilder &k;
  const WeightPlan &plan;
  const ConvShape &c;
  Memory image, result, filter;
  ProductTiles tiles;
  TileMoves rowMoves, columnMoves; ///< lines are rows and columns, along them lie positions
  Num group, part, firstRow, firstColumn, begin, end;
  SmallVector<Column> columns;
};

} // namespace

void tiledWeights(CallKernels &kernels, const Convolution &convolution) {
  WeightPlan plan(convolution);
  Operand sums = partialsOf(kernels, convolution.filter, convolution.sum, plan.parts, plan.elements());
  int64_t blocks = plan.c.groups * plan.parts * plan.columnTiles * plan.rowTiles;
  kernels.kernel("convolution_weights", blocks, kTileThreads, {convolution.image, convolution.result, sums},
                 [&](KernelBuilder &k, ArrayRef<Memory> memory) { WeightKernel(k, plan, memory).run(); });
  joinParts(kernels, sums, convolution.filter, plan.parts, plan.elements());
}

} // namespace kedge::lower::gpu::convolution
