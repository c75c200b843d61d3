#include "passes/Lower/Gpu/library/HalfMatmulTiles.h"
#include "passes/Lower/Gpu/library/CallKernels.h"

using namespace mlir;
using namespace kedge::lower::gpu;

HalfTileShape HalfTileShape::of(int64_t rows, int64_t columns, int64_t products, int64_t wholeColumns) {
  struct Choice {
    HalfTileShape tile;
    double rate; ///< a larger tile reads less for each product
  };
  constexpr int64_t kDevice = 132; // blocks that keep a device busy
  HalfTileShape best{};
  double least = 0;
  for (const Choice &choice : {Choice{{128, 128, 2}, 1.0},
                               {{64, 128, 2}, 0.85},
                               {{128, 64, 4}, 0.85},
                               {{64, 64, 4}, 0.65},
                               {{32, 256, 1}, 0.6},
                               {{32, 128, 2}, 0.5},
                               {{128, 32, 8}, 0.5}}) {
    const HalfTileShape &tile = choice.tile;
    int64_t blocks = ceilDiv(rows, tile.rows) * ceilDiv(columns, tile.columns) * products;
    double time = double(std::max(blocks, kDevice) * tile.rows * tile.columns) / choice.rate;
    if (wholeColumns % tile.columns != 0)
      time *= 1.5;
    if (least == 0 || time < least)
      best = tile, least = time;
  }
  return best;
}

HalfMatmulTiles::HalfMatmulTiles(KernelBuilder &k, const HalfTileShape &tile, Type type)
    : k(k), tile(tile), type(type), pieces(tile.pieces()),
      a(k.shared(k.b.getI16Type(), 2 * tile.rows * tile.depth), tile.rows, tile.depth),
      b(k.shared(k.b.getI16Type(), 2 * tile.columns * tile.depth), tile.columns, tile.depth) {
  int64_t across = HalfTileShape::kWarps / tile.warpsDown;
  Num warp = k.thread() / 32;
  warpRow = warp / across * (tile.rows / tile.warpsDown),
  warpColumn = warp % across * (tile.columns / across);
  // Sums and what is on its way take more than the 128 registers of two blocks.
  if (pieces.size() == 64)
    k.residentBlocks(1);
}

void HalfMatmulTiles::store(const MatrixTile &tile, Num buffer, Num row, Num depth, Num values) {
  Num place = tile.place(row, depth / 8) + depth % 8;
  k.store(tile.memory, buffer * tile.size() + place, values);
}

void HalfMatmulTiles::copyA(Num buffer, Memory from, Num first) {
  GlobalRows rows{from, first, tile.depth, k.index(tile.rows), tile.depth, 8};
  beginFill(k, a, rows, kTileThreads, buffer * a.size());
}

Nums HalfMatmulTiles::addStep(Num buffer, Nums sums) const {
  PartReader left(k, a, PartReader::Below, warpRow), right(k, b, PartReader::Beside, warpColumn);
  Num shiftA = buffer * a.size(), shiftB = buffer * b.size();
  return multiplyByRows(
      k, type, pieces, [&](int64_t i, int64_t step) { return left.load(16 * i, 2 * step, false, shiftA); },
      right, shiftB, tile.depth / 16, std::move(sums));
}

Nums HalfMatmulTiles::sumSteps(Num steps, Nums first, Advance advance, Begin begin, Load load, Put put) {
  size_t places = first.size();
  auto fill = [&](const Nums &place, Num buffer, Fn<void()> meanwhile) {
    begin(place, buffer);
    Nums values = load(place);
    meanwhile();
    put(buffer, values);
    waitForFills(k);
    k.barrier();
  };
  fill(first, k.index(0), [] {});
  Nums carried = first;
  carried.push_back(k.index(0)); // the buffer that is full
  carried.append(Nums(pieces.size(), k.f32(0)));
  Nums last = k.loop(k.index(0), steps, k.index(1), carried, [&](Num, Nums now) {
    ArrayRef<Num> list = now;
    Nums place = advance(Nums(list.take_front(places)));
    Num buffer = list[places], other = 1 - buffer;
    Nums sums(list.drop_front(places + 1));
    fill(place, other, [&] { sums = addStep(buffer, std::move(sums)); });
    place.push_back(other);
    place.append(sums);
    return place;
  });
  return Nums(ArrayRef<Num>(last).drop_front(places + 1));
}

void HalfMatmulTiles::forEachPair(ArrayRef<Num> sums, Pair body) const {
  TilePart part = pieces.part(k);
  for (int64_t r = 0; r < part.rows.size(); ++r)
    for (int64_t j = 0; j < pieces.columnTiles; ++j) {
      Num low = sums[pieces.number(r / 2, j, r % 2 * 2)], high = sums[pieces.number(r / 2, j, r % 2 * 2 + 1)];
      body(warpRow + part.rows.at(r), warpColumn + part.columns.group(j), {low, high});
    }
}
