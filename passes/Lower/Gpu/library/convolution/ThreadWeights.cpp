// The gradient of the weights in tiles whose threads multiply.
#include "passes/Lower/Gpu/library/convolution/Weights.h"

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {
namespace {

class ThreadWeightKernel : WeightBlock {
public:
  ThreadWeightKernel(KernelBuilder &k, const WeightPlan &plan, const TileShape &tile, ArrayRef<Memory> memory)
      : WeightBlock(k, plan, memory),
        // Lines of shared memory are written along their depth: the pad spreads them over the banks.
        tiles(k, tile, plan.call.sum, MatmulTiles::widthOf(plan.call.sum),
              MatmulTiles::widthOf(plan.call.sum)) {}

  void run() {
    k.residentBlocks(1); // otherwise ptxas aims at 64 registers and spills the few that are more
    findColumns();
    Nums sums = tiles.sumSteps(
        steps(), {begin}, [&](Nums place) -> Nums { return {place[0] + plan.depth}; },
        [&](const Nums &place) { return load(place[0]); },
        [&](Num buffer, const Nums &values) { put(buffer, values); });
    tiles.forEachGroup(sums, [&](Num row, Num column, ArrayRef<Num> values) { store(row, column, values); });
  }

private:
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

  MatmulTiles tiles;
};

} // namespace

void tiledWeights(CallKernels &kernels, const Convolution &convolution) {
  WeightPlan plan(convolution);
  TileShape tile = TileShape::of(plan.rows, plan.columns, plan.products(), convolution.sum);
  plan.cut(tile.rows, tile.columns, tile.depth);
  generateWeightKernels(kernels, plan, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
    ThreadWeightKernel(k, plan, tile, memory).run();
  });
}

} // namespace kedge::lower::gpu::convolution
