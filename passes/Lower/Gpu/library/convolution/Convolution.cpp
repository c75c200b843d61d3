// onnx.Conv, onnx.ConvTranspose and their gradients: which kernels they become.
#include "passes/Lower/Gpu/library/convolution/Convolution.h"
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/Generators.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::lower::gpu::convolution;

namespace kedge::lower::gpu::convolution {
namespace {

/// Rows of a product that a tile would leave mostly empty.
constexpr int64_t kFewRows = 4;
/// Blocks that fill a device twice.
constexpr int64_t kWantedBlocks = 264;

/// Whether tensor cores take the call: all its matrices are of one 16-bit type.
bool isHalf(const Convolution &convolution) {
  Type type = convolution.storage;
  return (type.isBF16() || type.isF16()) && convolution.image.element == type &&
         convolution.filter.element == type;
}

/// result = bias of the channel, or 0: products over nothing.
void fillResult(CallKernels &kernels, const ImageMatmul &product) {
  int64_t channels = product.groups * product.rows, plane = product.resultSize();
  if (!product.bias)
    return copyInset(kernels, product.result, product.result, {{product.resultElements(), 0, 0}});
  kernels.forEach("convolution_bias", product.resultElements(), {*product.bias, product.result},
                  [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
                    k.store(memory[1], flat, k.load(memory[0], flat / plane % channels));
                  });
}

void generateImages(CallKernels &kernels, const Convolution &convolution) {
  ImageMatmul product = ImageMatmul::of(convolution);
  if (product.resultElements() == 0)
    return;
  if (product.groupWeights() == 0 || product.batch * product.depth * product.sourceSize() == 0)
    return fillResult(kernels, product);
  if (product.rows <= kFewRows)
    return directImages(kernels, product);
  if (isHalf(convolution))
    return halfImages(kernels, product);
  tiledImages(kernels, product);
}

void generateWeights(CallKernels &kernels, const Convolution &convolution) {
  const ConvShape &shape = convolution.shape;
  int64_t elements = shape.filters * shape.groupChannels() * shape.taps();
  if (elements == 0)
    return;
  if (shape.batch * shape.outSize() == 0 || shape.inSize() == 0)
    return copyInset(kernels, convolution.filter, convolution.filter, {{elements, 0, 0}});
  if (shape.groupFilters() <= kFewRows)
    return directWeights(kernels, convolution);
  if (isHalf(convolution))
    return halfWeights(kernels, convolution);
  tiledWeights(kernels, convolution);
}

} // namespace

Convolution::Convolution(const CallKernels &kernels)
    : shape(readConv(kernels.call, rt::calls::convRolesOf(kernels.call))),
      roles(rt::calls::convRolesOf(kernels.call)) {
  auto operand = [&](int at) {
    size_t inputs = kernels.call.inputs.size(), index = static_cast<size_t>(at);
    return index < inputs ? kernels.input(index) : kernels.output(index - inputs);
  };
  image = operand(roles.image), filter = operand(roles.filter), result = operand(roles.result);
  if (int at = roles.bias ? rt::calls::inputIndex(kernels.call, 2) : -1; at >= 0) {
    bias = kernels.input(at);
    bool isBack = roles.kind == ConvRoles::Kind::Data;
    rt::calls::expectShape(kernels.call, kernels.call.inputs[at], {isBack ? shape.channels : shape.filters},
                           "the bias");
  }
  kernels.expectFloat(result);
  storage = result.element, sum = result.compute;
}

int64_t partsOf(int64_t blocks, int64_t steps, int64_t stepsOfPart, int64_t result, int64_t operands) {
  int64_t most = std::max<int64_t>(1, std::min(steps / stepsOfPart, operands / result));
  int64_t parts = std::clamp<int64_t>(kWantedBlocks / blocks, 1, most);
  return ceilDiv(steps, ceilDiv(steps, parts)); // none is empty
}

Operand partialsOf(CallKernels &kernels, const Operand &result, Type sum, int64_t parts, int64_t elements) {
  return parts == 1 ? result : kernels.workspace(sum, parts * elements);
}

void joinParts(CallKernels &kernels, const Operand &partials, const Operand &result, int64_t parts,
               int64_t elements, const std::optional<Operand> &bias, int64_t channels, int64_t plane) {
  if (parts == 1)
    return;
  unsigned width = vectorWidth(result.element, {elements, bias ? plane : elements});
  SmallVector<Operand> operands = {partials, result};
  if (bias)
    operands.push_back(*bias);
  kernels.forEach("convolution_join", elements / width, operands,
                  [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
                    Num at = flat * int64_t(width), total = k.load(memory[0], at, width);
                    total = k.loop(k.index(1), k.index(parts), k.index(1), {total},
                                   [&](Num part, Nums so) -> Nums {
                                     return {so[0] + k.load(memory[0], part * elements + at, width)};
                                   })[0];
                    if (bias)
                      total = total + k.vector(Nums(width, k.load(memory[2], at / plane % channels)));
                    k.store(memory[1], at, total);
                  });
}

ImageMatmul ImageMatmul::of(const Convolution &convolution) {
  const ConvShape &shape = convolution.shape;
  bool isBack = convolution.roles.kind == ConvRoles::Kind::Data;
  ImageMatmul product;
  product.source = isBack ? convolution.result : convolution.image;
  product.result = isBack ? convolution.image : convolution.result;
  product.filter = convolution.filter, product.bias = convolution.bias;
  product.storage = convolution.storage, product.sum = convolution.sum;
  for (int d = 0; d < 3; ++d)
    product.walks[d] = isBack ? TapWalk::backward(shape, d) : TapWalk::forward(shape, d);
  product.batch = shape.batch, product.groups = shape.groups;
  product.rows = isBack ? shape.groupChannels() : shape.groupFilters();
  product.depth = isBack ? shape.groupFilters() : shape.groupChannels();
  int64_t ofFilter = shape.groupChannels() * shape.taps(), ofChannel = shape.taps();
  product.rowStep = isBack ? ofChannel : ofFilter, product.depthStep = isBack ? ofFilter : ofChannel;
  product.tapSteps = {shape.kernel[1] * shape.kernel[2], shape.kernel[2]};
  return product;
}

Num ImageMatmul::tap(ArrayRef<TapPhase> phases, ArrayRef<Num> number) const {
  auto at = [&](int d) { return phases[d].first + number[d] * walks[d].tapStep; };
  return at(0) * tapSteps[0] + at(1) * tapSteps[1] + at(2);
}

} // namespace kedge::lower::gpu::convolution

void kedge::lower::gpu::generateConvolution(CallKernels &kernels) {
  Convolution convolution(kernels);
  if (convolution.roles.kind == ConvRoles::Kind::Filter)
    return generateWeights(kernels, convolution);
  generateImages(kernels, convolution);
}
