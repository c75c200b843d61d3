// The gradient of the weights in tiles: rows are filters, columns channels and taps, and the sums run over
// the positions of all images, in parts (split-K) where too few tiles would fill a device. Kernels of threads
// and of tensor cores share this.
#pragma once
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/MatmulTiles.h"
#include "passes/Lower/Gpu/library/convolution/Convolution.h"

namespace kedge::lower::gpu::convolution {

struct WeightPlan {
  const Convolution &call;
  const ConvShape &c;
  TapWalks walks;
  int64_t rows, columns, positions; ///< of a group
  bool isPointwise;                 ///< positions read what lies at their own place
  int64_t tileRows = 0, tileColumns = 0, depth = 0;
  int64_t rowTiles = 0, columnTiles = 0, parts = 1, stepsOfPart = 0;
  /// Columns are taps, then channels, and a tile's have one tap; otherwise channels, then taps.
  bool hasTapTiles = false;

  explicit WeightPlan(const Convolution &call);
  void cut(int64_t tileRows, int64_t tileColumns, int64_t depth);

  /// Independent products, at most: groups, and parts of 256 positions that a sum may be cut into (split-K).
  int64_t products() const { return c.groups * std::max<int64_t>(1, positions / 256); }
  int64_t elements() const { return c.groups * rows * columns; }
  /// Neighbouring positions that are read at once.
  int64_t resultWidth() const { return vectorWidth(call.storage, {c.outSize()}); }
  int64_t imageWidth() const { return isPointwise ? vectorWidth(call.storage, {c.inSize()}) : 1; }
};

/// What a block computes, and where its threads find it.
class WeightBlock {
protected:
  /// `memory`: image, the result's gradient, the filter's gradient, which is written.
  WeightBlock(KernelBuilder &k, const WeightPlan &plan, llvm::ArrayRef<Memory> memory);

  Num begin, end; ///< positions of the part
  Num steps() const { return (end - begin + (plan.depth - 1)) / plan.depth; }
  /// What the thread moves of the step at a position: rows, then columns.
  Nums load(Num step) const;
  void findColumns();
  void store(Num row, Num column, llvm::ArrayRef<Num> values);

  KernelBuilder &k;
  const WeightPlan &plan;
  const ConvShape &c;
  Memory image, result, filter;
  TileMoves rowMoves, columnMoves; ///< lines are rows and columns, along them lie positions

private:
  /// A column's channel and tap: their distance from a position's place, and the tap's distances along the
  /// dimensions.
  struct Column {
    Num distance;
    Nums taps;
  };
  Column columnAt(Num number) const;
  /// A position of a step, past the part's end not valid.
  struct Position {
    Num isValid, image, place;
    Nums at;
  };
  Position positionOf(Num step, const TileMoves &moves) const;
  void loadImage(const Position &position, Nums &values) const;
  Num isInside(const Position &position, const Nums &origin, const Column &column) const;
  Num loadIf(Num inside, Memory from, Num at, int64_t width) const;
  Num placeOf(Num row, Num column) const;

  Num group, part, firstRow, firstColumn;
  llvm::SmallVector<Column> columns;
};

/// The kernels of a plan: `body` for each block, and the sum of the parts.
void generateWeightKernels(CallKernels &kernels, const WeightPlan &plan, CallKernels::Body body);

} // namespace kedge::lower::gpu::convolution
