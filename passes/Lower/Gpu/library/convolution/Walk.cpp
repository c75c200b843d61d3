// What positions of a convolution's result read.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/Gpu/library/convolution/Convolution.h"
#include <numeric>

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {

TapWalk TapWalk::forward(const ConvShape &shape, int d) {
  TapWalk walk;
  walk.result = walk.positions = shape.out[d], walk.source = shape.in[d], walk.taps = shape.kernel[d];
  walk.scale = shape.stride[d], walk.step = shape.dilation[d];
  walk.count = {static_cast<int32_t>(walk.taps)}, walk.first = {0},
  walk.start = {static_cast<int32_t>(-shape.pad[d])};
  return walk;
}

TapWalk TapWalk::backward(const ConvShape &shape, int d) {
  // Place q of X is read by the output position o at tap t when q + pad = o * stride + t * dilation.
  int64_t stride = shape.stride[d], dilation = shape.dilation[d], common = std::gcd(stride, dilation);
  TapWalk walk;
  walk.result = shape.in[d], walk.source = shape.out[d], walk.taps = shape.kernel[d];
  walk.phases = std::max<int64_t>(1, std::min(stride, walk.result));
  walk.positions = ceilDiv(walk.result, stride);
  walk.tapStep = stride / common, walk.step = -(dilation / common);
  for (int64_t phase = 0; phase < walk.phases; ++phase) {
    int64_t place = phase + shape.pad[d], first = 0;
    while (first < walk.taps && (place - first * dilation) % stride != 0)
      ++first;
    walk.count.push_back(
        static_cast<int32_t>(first < walk.taps ? ceilDiv(walk.taps - first, walk.tapStep) : 0));
    walk.first.push_back(static_cast<int32_t>(first < walk.taps ? first : 0));
    walk.start.push_back(static_cast<int32_t>(first < walk.taps ? (place - first * dilation) / stride : 0));
  }
  return walk;
}

bool TapWalk::leaves() const {
  for (size_t phase = 0; phase < count.size(); ++phase)
    for (int64_t position : {int64_t(0), positions - 1})
      for (int64_t tap : {int64_t(0), int64_t(count[phase]) - 1}) {
        int64_t at = scale * position + step * tap + start[phase];
        if (at < 0 || at >= source)
          return true;
      }
  return false;
}

int64_t TapWalk::mostTaps() const { return *std::max_element(count.begin(), count.end()); }

TapPhase TapPhase::of(KernelBuilder &k, const TapWalk &walk, Num number) {
  auto pick = [&](const SmallVector<int32_t> &values) {
    if (llvm::all_equal(values))
      return k.index(values[0]);
    return k.asIndex(k.load(k.constants(values), number));
  };
  return {number, pick(walk.count), pick(walk.first), pick(walk.start)};
}

Num isWithin(Num at, int64_t size) {
  KernelBuilder &k = *at.kernel;
  Value bound = literal(at, size).value;
  return {k, k.b.createOrFold<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ult, at.value, bound)};
}

Num always(KernelBuilder &k) { return k.index(0) == k.index(0); }

Num flatten(ArrayRef<Num> index, const Space &sizes) {
  return (index[0] * sizes[1] + index[1]) * sizes[2] + index[2];
}

} // namespace kedge::lower::gpu::convolution
