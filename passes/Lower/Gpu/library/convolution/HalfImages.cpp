// Y or X of 16 bits on tensor cores. Weights come by asynchronous copies. Of the source, whose channels lie
// an image apart, a thread reads eight channels at one position and writes them next to each other.
#include "passes/Lower/Gpu/library/HalfMatmulTiles.h"
#include "passes/Lower/Gpu/library/convolution/Images.h"

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {
namespace {

constexpr int64_t kChunk = 8; ///< channels that are written at once

class HalfImageKernel : ImageBlock {
public:
  HalfImageKernel(KernelBuilder &k, const ImagePlan &plan, const HalfTileShape &tile, ArrayRef<Memory> memory)
      : ImageBlock(k, plan, memory), tiles(k, tile, source.element),
        moves{tile.depth / kChunk, tile.columns, 1} {
    source = {source.pointer, k.b.getI16Type()};
  }

  void run() {
    readFor(moves.place(k));
    Nums sums = tiles.sumSteps(
        steps(), {firstStep(), k.index(0), k.index(0), k.index(0)},
        [&](Nums place) { return advance(place); },
        [&](const Nums &place, Num buffer) { tiles.copyA(buffer, packed, packedPlace(place)); },
        [&](const Nums &place) { return load(place); },
        [&](Num buffer, const Nums &values) { put(buffer, values); });
    tiles.forEachPair(sums, [&](Num row, Num column, ArrayRef<Num> values) { store(row, column, values); });
  }

private:
  /// A vector of eight channels each time.
  Nums load(const Nums &place) const {
    SourcePosition at = sourcePosition(place);
    Num line = moves.line(k, 0) % moves.lines, channel = place[0] * plan.depth + line * kChunk;
    Num from = at.first + channel * p.sourceSize();
    Nums values;
    for (int64_t move = 0; move < moves.count(); ++move) {
      Nums chunk;
      for (int64_t lane = 0; lane < kChunk; ++lane)
        chunk.push_back(loadChannel(from, channel, move * moves.lineStep() * kChunk + lane, at.isInside, 1));
      values.push_back(k.vector(chunk));
    }
    return values;
  }

  void put(Num buffer, const Nums &values) {
    moves.whenMoving(k, [&] {
      for (int64_t move = 0; move < moves.count(); ++move)
        tiles.storeB(buffer, moves.place(k), moves.line(k, move) * kChunk, values[move]);
    });
  }

  HalfMatmulTiles tiles;
  TileMoves moves; ///< lines are chunks of channels
};

} // namespace

void halfImages(CallKernels &kernels, const ImageMatmul &product) {
  ImagePlan plan(product);
  HalfTileShape tile = HalfTileShape::of(product.rows, plan.columns, product.groups * plan.phases);
  if (ceilDiv(product.depth, tile.depth) * tile.depth * 4 > product.depth * 5)
    tile.depth = 16;
  plan.cut(tile.rows, tile.columns, tile.depth);
  Operand packed = kernels.workspace(product.storage, plan.packedElements());
  packWeights(kernels, plan, packed, /*rowsFirst=*/true);
  generateImageKernels(kernels, plan, packed, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
    HalfImageKernel(k, plan, tile, memory).run();
  });
}

} // namespace kedge::lower::gpu::convolution
