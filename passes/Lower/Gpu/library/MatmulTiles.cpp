#include "passes/Lower/Gpu/library/MatmulTiles.h"
#include "passes/Lower/Gpu/library/CallKernels.h"

using namespace mlir;
using namespace kedge::lower::gpu;

TileShape TileShape::of(int64_t rows, int64_t columns, int64_t products, Type sum) {
  constexpr int64_t kDevice = 132; // blocks that keep a device busy
  TileShape best{64, 64, 16, 4};
  auto area = [&](const TileShape &tile) {
    return tile.rowTiles(rows) * tile.rows * tile.columnTiles(columns) * tile.columns;
  };
  for (TileShape tile : {TileShape{32, 128, 16, 4}, TileShape{128, 32, 16, 4}, TileShape{16, 256, 8, 4},
                         TileShape{256, 16, 8, 4}})
    if (area(tile) < area(best))
      best = tile;
  TileShape wide{128, 128, 8, 8}; // half of the loads for each product, where enough of them fill a device
  bool isFilled = wide.rowTiles(rows) * wide.columnTiles(columns) * products >= kDevice;
  if (sum.isF32() && isFilled && area(wide) * 8 <= area(best) * 9)
    return wide;
  return best;
}

MatmulTiles::MatmulTiles(KernelBuilder &k, const TileShape &tile, Type sum, int64_t padA, int64_t padB)
    : k(k), tile(tile), sum(sum), strideA(tile.rows + padA), strideB(tile.columns + padB),
      a(k.shared(sum, 2 * tile.depth * strideA)), b(k.shared(sum, 2 * tile.depth * strideB)) {
  int64_t across = tile.columns / tile.own, width = widthOf(sum);
  Num line = k.thread() / across, lane = k.thread() % across;
  rows = Share::of(line, tile.rows / tile.own, tile.rows, width);
  columns = Share::of(lane, across, tile.columns, width);
  // Otherwise ptxas aims at 128 registers and spills the few that are more.
  if (tile.own == 8)
    k.residentBlocks(1);
}

Nums MatmulTiles::loadShare(Memory memory, Num from, const Share &share) const {
  Memory line = k.shifted(memory, from);
  Nums values;
  for (int64_t g = 0; g < share.groups; ++g) {
    Num group = k.load(line, k.index(g * share.threads * share.vec), share.vec);
    for (int64_t lane = 0; lane < share.vec; ++lane)
      values.push_back(k.lane(group, lane));
  }
  return values;
}

Nums MatmulTiles::addStep(Num buffer, Nums sums) const {
  for (int64_t depth = 0; depth < tile.depth; ++depth) {
    Nums left = loadShare(a, place(buffer, k.index(depth), rows.group(0), strideA), rows);
    Nums right = loadShare(b, place(buffer, k.index(depth), columns.group(0), strideB), columns);
    for (int64_t r = 0; r < tile.own; ++r)
      for (int64_t c = 0; c < tile.own; ++c)
        sums[r * tile.own + c] = fma(left[r], right[c], sums[r * tile.own + c]);
  }
  return sums;
}

Nums MatmulTiles::sumSteps(Num steps, Nums first, Advance advance, Load load, Put put) {
  size_t places = first.size();
  put(k.index(0), load(first));
  k.barrier();
  Nums carried = first;
  carried.push_back(k.index(0)); // the buffer that is full
  carried.append(Nums(tile.own * tile.own, k.zeros(sum, 1)));
  Nums last = k.loop(k.index(0), steps, k.index(1), carried, [&](Num, Nums now) {
    ArrayRef<Num> list = now;
    Nums place = advance(Nums(list.take_front(places)));
    Num buffer = list[places], other = 1 - buffer;
    Nums values = load(place);
    Nums sums = addStep(buffer, Nums(list.drop_front(places + 1)));
    put(other, values);
    k.barrier();
    place.push_back(other);
    place.append(sums);
    return place;
  });
  return Nums(ArrayRef<Num>(last).drop_front(places + 1));
}

void MatmulTiles::forEachGroup(ArrayRef<Num> sums, Group body) const {
  for (int64_t r = 0; r < rows.size(); ++r)
    for (int64_t g = 0; g < columns.groups; ++g)
      body(rows.at(r), columns.group(g), sums.slice(r * tile.own + g * columns.vec, columns.vec));
}
