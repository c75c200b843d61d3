// Y or X in tiles: rows are channels of the result, columns its positions in all images, and the sums run
// over channels of the source and taps. All elements of a step have one tap, so a thread finds its position's
// place once a step. Kernels of threads and of tensor cores share this.
#pragma once
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/convolution/Convolution.h"

namespace kedge::lower::gpu::convolution {

struct ImagePlan {
  const ImageMatmul &product;
  int64_t phases = 1, columns; ///< columns: positions of a phase, of all images
  bool isPointwise;            ///< positions read what lies at their own place: neighbours are neighbours
  bool isWhole;                ///< neighbouring positions of the result are neighbours in memory
  int64_t tileRows = 0, tileColumns = 0, depth = 0; ///< depth: channels of the source a step
  int64_t rowTiles = 0, columnTiles = 0, channelSteps = 0, parts = 1, channelStepsOfPart = 0;

  explicit ImagePlan(const ImageMatmul &product);
  void cut(int64_t rows, int64_t columns, int64_t depth);

  int64_t blocks() const { return phases * product.groups * parts * columnTiles * rowTiles; }
  /// Neighbouring positions that are read, or written, at once.
  int64_t readWidth() const { return isPointwise ? vectorWidth(product.storage, {product.sourceSize()}) : 1; }
  int64_t writeWidth() const { return isWhole ? vectorWidth(product.sum, {product.resultSize()}) : 1; }

  int64_t stepWeights() const { return depth * tileRows; }
  int64_t packedElements() const {
    return product.groups * rowTiles * channelSteps * product.taps() * stepWeights();
  }
};

/// The weights in the order in which tiles read them, zeros beyond the last row and channel:
/// [group][row tile][step of channels][tap], then [channel of the step][row of the tile], or with `rowsFirst`
/// [row of the tile][channel of the step].
void packWeights(CallKernels &kernels, const ImagePlan &plan, Operand packed, bool rowsFirst);

/// A position of the result: its image, its place in each dimension's phase; columns beyond the last are not
/// valid.
struct Position {
  Num isValid, image;
  Nums at;
};

/// What a block computes, and where its threads find it.
class ImageBlock {
protected:
  /// `memory`: source, packed weights, result, and optionally the bias.
  ImageBlock(KernelBuilder &k, const ImagePlan &plan, llvm::ArrayRef<Memory> memory);

  Num firstStep() const { return part * plan.channelStepsOfPart; }
  /// Of all taps.
  Num steps() const;
  /// A step: number of the channels, then of the tap in each dimension. The taps come first, the last
  /// dimension fastest, then channels.
  Nums advance(Nums place) const;
  /// Number of the first of a step's packed weights.
  Num packedPlace(const Nums &place) const;

  /// The position that the thread reads for, by its number in the block.
  void readFor(Num column);
  struct SourcePosition {
    Num isInside, first; ///< first: the position in the first channel
  };
  SourcePosition sourcePosition(const Nums &place) const;
  /// `width` neighbouring positions in the channel that is `next` further than `channel`, which lies at
  /// `from`; zeros outside.
  Num loadChannel(Num from, Num channel, int64_t next, Num inside, unsigned width) const;

  /// Sums of neighbouring columns of a row, both counted in the block.
  void store(Num row, Num column, llvm::ArrayRef<Num> values);

  KernelBuilder &k;
  const ImagePlan &plan;
  const ImageMatmul &p;
  Memory source, packed, result;
  std::optional<Memory> bias;

private:
  Position positionOf(Num column) const;
  void storePositions(Num channel, Num column, llvm::ArrayRef<Num> values);

  llvm::SmallVector<TapPhase> phases;
  Num group, part, rowTile, firstColumn;
  Num isColumn, plane; ///< plane: number of the first channel's plane of the source
  Nums origin;
};

/// The kernels of a plan: packed weights, `body` for each block, and the sum of the parts.
void generateImageKernels(CallKernels &kernels, const ImagePlan &plan, Operand packed,
                          CallKernels::Body body);

} // namespace kedge::lower::gpu::convolution
