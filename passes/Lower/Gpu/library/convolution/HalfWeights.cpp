// The gradient of the weights of 16 bits on tensor cores: both operands run along their positions, as the
// tensor cores read them.
#include "passes/Lower/Gpu/library/HalfMatmulTiles.h"
#include "passes/Lower/Gpu/library/convolution/Weights.h"

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {
namespace {

class HalfWeightKernel : WeightBlock {
public:
  HalfWeightKernel(KernelBuilder &k, const WeightPlan &plan, const HalfTileShape &tile,
                   ArrayRef<Memory> memory)
      : WeightBlock(k, plan, memory), tiles(k, tile, image.element) {
    for (Memory *operand : {&image, &result})
      *operand = {operand->pointer, k.b.getI16Type()};
  }

  void run() {
    findColumns();
    Nums sums = tiles.sumSteps(
        steps(), {begin}, [&](Nums place) -> Nums { return {place[0] + plan.depth}; },
        [](const Nums &, Num) {}, [&](const Nums &place) { return load(place[0]); },
        [&](Num buffer, const Nums &values) { put(buffer, values); });
    tiles.forEachPair(sums, [&](Num row, Num column, ArrayRef<Num> values) { store(row, column, values); });
  }

private:
  void put(Num buffer, const Nums &values) {
    rowMoves.whenMoving(k, [&] {
      for (int64_t move = 0; move < rowMoves.count(); ++move)
        tiles.storeA(buffer, rowMoves.line(k, move), rowMoves.place(k), values[move]);
    });
    columnMoves.whenMoving(k, [&] {
      for (int64_t move = 0; move < columnMoves.count(); ++move)
        tiles.storeB(buffer, columnMoves.line(k, move), columnMoves.place(k),
                     values[rowMoves.count() + move]);
    });
  }

  HalfMatmulTiles tiles;
};

} // namespace

void halfWeights(CallKernels &kernels, const Convolution &convolution) {
  WeightPlan plan(convolution);
  int64_t channels = plan.c.groupChannels();
  HalfTileShape tile =
      HalfTileShape::of(plan.rows, plan.columns, plan.products(), plan.c.taps() == 1 ? 0 : channels);
  plan.hasTapTiles = channels % tile.columns == 0;
  if (!plan.hasTapTiles) // each column that a thread reads has a tap of its own: not too many registers
    tile.depth = 16;
  plan.cut(tile.rows, tile.columns, tile.depth);
  generateWeightKernels(kernels, plan, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
    HalfWeightKernel(k, plan, tile, memory).run();
  });
}

} // namespace kedge::lower::gpu::convolution
