// Y or X in tiles whose threads multiply.
#include "passes/Lower/Gpu/library/MatmulTiles.h"
#include "passes/Lower/Gpu/library/convolution/Images.h"

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

class ThreadImageKernel : ImageBlock {
public:
  ThreadImageKernel(KernelBuilder &k, const ImagePlan &plan, const TileShape &tile, ArrayRef<Memory> memory)
      : ImageBlock(k, plan, memory), tiles(k, tile, p.sum, 0, 0),
        weightMoves{tile.depth, tile.rows, MatmulTiles::widthOf(p.sum)},
        sourceMoves{tile.depth, tile.columns, plan.readWidth()} {}

  void run() {
    readFor(sourceMoves.place(k));
    Nums sums = tiles.sumSteps(
        steps(), {firstStep(), k.index(0), k.index(0), k.index(0)},
        [&](Nums place) { return advance(place); }, [&](const Nums &place) { return load(place); },
        [&](Num buffer, const Nums &values) { put(buffer, values); });
    tiles.forEachGroup(sums, [&](Num row, Num column, ArrayRef<Num> values) { store(row, column, values); });
  }

private:
  Nums load(const Nums &place) const {
    Nums values = loadWeights(place);
    values.append(loadSource(place));
    return values;
  }

  Nums loadWeights(const Nums &place) const {
    Memory from = k.shifted(packed, packedPlace(place));
    Num thread = (k.thread() * weightMoves.width) % plan.stepWeights();
    Nums values;
    for (int64_t move = 0; move < weightMoves.count(); ++move)
      values.push_back(k.load(from, thread + move * kTileThreads * weightMoves.width, weightMoves.width));
    return values;
  }

  Nums loadSource(const Nums &place) const {
    SourcePosition at = sourcePosition(place);
    Num line = sourceMoves.line(k, 0) % plan.depth, channel = place[0] * plan.depth + line;
    Num from = at.first + channel * p.sourceSize();
    Nums values;
    for (int64_t move = 0; move < sourceMoves.count(); ++move)
      values.push_back(
          loadChannel(from, channel, move * sourceMoves.lineStep(), at.isInside, sourceMoves.width));
    return values;
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

  MatmulTiles tiles;
  TileMoves weightMoves, sourceMoves;
};

} // namespace

void tiledImages(CallKernels &kernels, const ImageMatmul &product) {
  ImagePlan plan(product);
  TileShape tile = TileShape::of(product.rows, plan.columns, product.groups * plan.phases, product.sum);
  tile.depth = channelsOfStep(product.depth, tile.depth);
  plan.cut(tile.rows, tile.columns, tile.depth);
  Operand packed = kernels.workspace(product.sum, plan.packedElements());
  packWeights(kernels, plan, packed, /*rowsFirst=*/false);
  generateImageKernels(kernels, plan, packed, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
    ThreadImageKernel(k, plan, tile, memory).run();
  });
}

} // namespace kedge::lower::gpu::convolution
