// What the kernels of convolutions share. docs/rationale/gpu-convolutions.md tells how they are cut.
#pragma once
#include "passes/Lower/Gpu/library/CallKernels.h"
#include "runtime/calls/ConvShape.h"

namespace kedge::lower::gpu::convolution {

using rt::calls::ConvRoles;
using rt::calls::ConvShape;
using rt::calls::Space;

/// One spatial dimension of "every position of a result sums over taps what it reads of a source". Positions
/// come in phases: position p of phase f is place f + p * phases of the result, and its tap i, which is tap
/// first[f] + i * tapStep of the weights, reads place scale * p + step * i + start[f] of the source.
struct TapWalk {
  int64_t result, source, taps;
  int64_t phases = 1, positions, scale = 1, step, tapStep = 1;
  llvm::SmallVector<int32_t> count, first, start; ///< of each phase; no taps: all of it is zero

  /// Y from X, along dimension `d`.
  static TapWalk forward(const ConvShape &shape, int d);
  /// X from Y: the positions of a phase are those that meet the same taps.
  static TapWalk backward(const ConvShape &shape, int d);
  /// Some position reads outside of the source.
  bool leaves() const;
  int64_t mostTaps() const;
};
using TapWalks = std::array<TapWalk, 3>;

/// A dimension of a walk in a kernel, of one phase.
struct TapPhase {
  Num number, count, first, start;
  static TapPhase of(KernelBuilder &k, const TapWalk &walk, Num number);
};

/// 0 <= at < size.
Num isWithin(Num at, int64_t size);
/// True without branches.
Num always(KernelBuilder &k);
/// Row-major place.
Num flatten(llvm::ArrayRef<Num> index, const Space &sizes);

/// A call of a convolution or of a gradient.
struct Convolution {
  ConvShape shape;
  ConvRoles roles;
  Operand image, filter, result; ///< X, W, Y; one of them is the output
  std::optional<Operand> bias;
  mlir::Type storage, sum; ///< of elements in memory and of sums

  explicit Convolution(const CallKernels &kernels);
};

/// Y or X: for every image and group a product of weights and what the taps read.
struct ImageMatmul {
  Operand source, filter, result;
  std::optional<Operand> bias;
  mlir::Type storage, sum;
  TapWalks walks;
  int64_t batch, groups;
  int64_t rows, depth; ///< channels of a group: of the result, of the source
  int64_t rowStep,
      depthStep; ///< between weights of neighbouring rows, of neighbouring channels of the source
  std::array<int64_t, 2> tapSteps; ///< weights between neighbouring taps of the first two dimensions

  static ImageMatmul of(const Convolution &convolution);
  int64_t taps() const { return walks[0].taps * walks[1].taps * walks[2].taps; }
  int64_t sourceSize() const { return walks[0].source * walks[1].source * walks[2].source; }
  int64_t resultSize() const { return walks[0].result * walks[1].result * walks[2].result; }
  int64_t resultElements() const { return batch * groups * rows * resultSize(); }
  int64_t groupWeights() const { return rows * depth * taps(); }
  Space resultSpace() const { return {walks[0].result, walks[1].result, walks[2].result}; }
  Space sourceSpace() const { return {walks[0].source, walks[1].source, walks[2].source}; }
  /// Tap i of each dimension, as a place among the weights of a row and channel.
  Num tap(llvm::ArrayRef<TapPhase> phases, llvm::ArrayRef<Num> number) const;
};

/// In how many parts sums of `steps` steps are cut when `blocks` blocks would make too few for a device.
/// Shapes alone decide: `result` elements a part, which together are no more than the `operands` elements
/// that are read.
int64_t partsOf(int64_t blocks, int64_t steps, int64_t stepsOfPart, int64_t result, int64_t operands);
/// Where a product's sums go before joinParts: the result itself when there is one part.
Operand partialsOf(CallKernels &kernels, const Operand &result, mlir::Type sum, int64_t parts,
                   int64_t elements);
/// result = the parts in order (+ bias of the channel); nothing to do for one part.
void joinParts(CallKernels &kernels, const Operand &partials, const Operand &result, int64_t parts,
               int64_t elements, const std::optional<Operand> &bias = {}, int64_t channels = 1,
               int64_t plane = 1);

/// Products with few rows: a thread a position.
void directImages(CallKernels &kernels, const ImageMatmul &product);
void tiledImages(CallKernels &kernels, const ImageMatmul &product);
/// Of 16-bit floats, on tensor cores.
void halfImages(CallKernels &kernels, const ImageMatmul &product);
/// The gradient of the weights of groups with few rows: a block a pair of channels.
void directWeights(CallKernels &kernels, const Convolution &convolution);
void tiledWeights(CallKernels &kernels, const Convolution &convolution);
void halfWeights(CallKernels &kernels, const Convolution &convolution);

} // namespace kedge::lower::gpu::convolution
