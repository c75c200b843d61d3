// onnx.MaxPool, onnx.AveragePool and their gradients. A thread computes one element of the result: of a
// gradient by visiting the windows that its element lies in, in ascending order, so that nothing is added up
// twice at once.
#include "passes/Lower/Gpu/library/Generators.h"
#include "runtime/calls/PoolShape.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using kedge::rt::calls::PoolShape;
using kedge::rt::calls::Space;

namespace {

/// Numbers carried along a walk over taps or windows.
using WalkStep = Fn<Nums(Nums place, Nums carried)>;

/// Loops over [0, counts) of three dims; dims of one are no loops.
Nums walk(KernelBuilder &k, ArrayRef<int64_t> counts, Nums index, Nums carried, WalkStep step) {
  if (index.size() == counts.size())
    return step(index, carried);
  auto enter = [&](Num at, Nums values) {
    Nums inner = index;
    inner.push_back(at);
    return walk(k, counts, inner, values, step);
  };
  int64_t count = counts[index.size()];
  if (count == 1)
    return enter(k.index(0), carried);
  return k.loop(k.index(0), k.index(count), k.index(1), carried, enter);
}

/// Walks the taps of the window at `out` that lie inside of the image; step gets (place in the image's
/// plane).
Nums walkTaps(KernelBuilder &k, const PoolShape &p, ArrayRef<Num> out, Nums carried, WalkStep step) {
  return walk(k, p.kernel, {}, carried, [&](Nums tap, Nums values) {
    Num inside = k.index(0) == k.index(0), place = k.index(0);
    for (int d = 0; d < 3; ++d) {
      Num at = out[d] * p.stride[d] + tap[d] * p.dilation[d] - p.pad[d];
      if (p.pad[d] > 0)
        inside = inside & (at >= 0);
      if ((p.out[d] - 1) * p.stride[d] + (p.kernel[d] - 1) * p.dilation[d] - p.pad[d] >= p.in[d])
        inside = inside & (at < p.in[d]);
      place = place * p.in[d] + at;
    }
    return k.choose(inside, [&] { return step({place}, values); }, [&] { return values; });
  });
}

/// Place of the first largest element of a window in its plane, -1 for an empty window; a NaN is larger than
/// all.
Nums largest(KernelBuilder &k, const PoolShape &p, Memory plane, ArrayRef<Num> out) {
  Num none = literalOf(k.zeros(plane.compute, 1), 0);
  return walkTaps(k, p, out, {k.index(-1), none}, [&](Nums place, Nums best) -> Nums {
    Num x = k.load(plane, place[0]);
    Num first = best[0]<0, larger = x> best[1];
    if (isa<FloatType>(plane.element))
      larger = larger | ((x != x) & (best[1] == best[1]));
    Num take = first | larger;
    return {select(take, place[0], best[0]), select(take, x, best[1])};
  });
}

/// Number of the taps of a window that count for its average.
Num tapsOf(KernelBuilder &k, const PoolShape &p, ArrayRef<Num> out, bool includePad) {
  Num taps = k.index(1);
  for (int d = 0; d < 3; ++d) {
    Num start = out[d] * p.stride[d] - p.pad[d];
    Num lowest = includePad ? k.index(0) : max((-start + (p.dilation[d] - 1)), k.index(0)) / p.dilation[d];
    Num room =
        max(k.index(p.in[d] + (includePad ? p.padEnd[d] : 0)) - start + (p.dilation[d] - 1), k.index(0));
    Num highest = min(room / p.dilation[d], k.index(p.kernel[d]));
    taps = taps * max(highest - lowest, k.index(0));
  }
  return taps;
}

SmallVector<int64_t> sizesOf(int64_t planes, const Space &space) {
  return {planes, space[0], space[1], space[2]};
}

/// Walks the windows that image place `in` lies in, in ascending order; step gets the window's place (three
/// indices).
Nums walkWindows(KernelBuilder &k, const PoolShape &p, ArrayRef<Num> in, Nums carried, WalkStep step) {
  SmallVector<int64_t> most; // windows along a dim that one place lies in
  for (int d = 0; d < 3; ++d)
    most.push_back(std::min(p.out[d], ((p.kernel[d] - 1) * p.dilation[d]) / p.stride[d] + 1));
  return walk(k, most, {}, carried, [&](Nums number, Nums values) {
    Nums out;
    Num inside = k.index(0) == k.index(0);
    for (int d = 0; d < 3; ++d) {
      // The last window that may start at or before the place, and those before it.
      Num last = min((in[d] + p.pad[d]) / p.stride[d], k.index(p.out[d] - 1));
      Num at = last - (most[d] - 1) + number[d];
      Num offset = in[d] + p.pad[d] - at * p.stride[d];
      inside = inside & (at >= 0) & (offset <= (p.kernel[d] - 1) * p.dilation[d]);
      if (p.dilation[d] != 1)
        inside = inside & (offset % p.dilation[d] == 0);
      out.push_back(at);
    }
    return k.choose(inside, [&] { return step(out, values); }, [&] { return values; });
  });
}

PoolShape readForward(const CallKernels &kernels) {
  return rt::calls::readPool(kernels.call, kernels.call.inputs[0], kernels.call.outputs[0]);
}
PoolShape readBackward(const CallKernels &kernels) {
  return rt::calls::readPool(kernels.call, kernels.call.outputs[0], kernels.call.inputs[0]);
}

Num flatten(KernelBuilder &k, ArrayRef<Num> index, const Space &sizes) {
  return (index[0] * sizes[1] + index[1]) * sizes[2] + index[2];
}

} // namespace

void kedge::lower::gpu::generateMaxPool(CallKernels &kernels) {
  rt::calls::expectCounts(kernels.call, 1, 1, 1, 2);
  PoolShape p = readForward(kernels);
  Operand x = kernels.input(0), y = kernels.output(0);
  if (!x.element.isInteger())
    kernels.expectFloat(x);
  else if (kernels.call.inputs[0].type == rt::DType::U8)
    rt::calls::failCall(kernels.call, "maxima of u8 have no kernel for CUDA: cast to i8 or f32");
  int indices = rt::calls::outputIndex(kernels.call, 1);
  bool columnMajor = rt::calls::intAttr(kernels.call, "storage_order", 0) == 1;
  SmallVector<Operand> operands = {x, y};
  if (indices >= 0)
    operands.push_back(kernels.output(indices));
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, sizesOf(p.planes, p.out));
    Nums best = largest(k, p, k.shifted(memory[0], index[0] * p.inSize()), ArrayRef<Num>(index).drop_front());
    Num lowest = isa<FloatType>(x.element) ? literalOf(best[1], -std::numeric_limits<double>::infinity())
                                           : literalOf(best[1], -128);
    k.store(memory[1], flat, select(best[0] < 0, lowest, best[1]));
    if (indices < 0)
      return;
    Num place = best[0];
    if (columnMajor)
      place = (place % p.in[2] * p.in[1] + place / p.in[2] % p.in[1]) * p.in[0] + place / (p.in[1] * p.in[2]);
    k.store(memory[2], flat, k.convert(index[0] * p.inSize() + place, memory[2].element));
  };
  kernels.forEach("max_pool", p.planes * p.outSize(), operands, body);
}

void kedge::lower::gpu::generateMaxPoolGrad(CallKernels &kernels) {
  rt::calls::expectCounts(kernels.call, 2, 2, 1, 1);
  PoolShape p = readBackward(kernels);
  kernels.expectFloat(kernels.output(0));
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, sizesOf(p.planes, p.in));
    Memory dy = k.shifted(memory[0], index[0] * p.outSize()), x = k.shifted(memory[1], index[0] * p.inSize());
    ArrayRef<Num> place = ArrayRef<Num>(index).drop_front();
    Num own = flatten(k, place, p.in), zero = k.zeros(dy.compute, 1);
    Num sum = walkWindows(k, p, place, {zero}, [&](Nums out, Nums sum) -> Nums {
      Num mine = largest(k, p, x, out)[0] == own;
      return {sum[0] + select(mine, k.load(dy, flatten(k, out, p.out)), zero)};
    })[0];
    k.store(memory[2], flat, sum);
  };
  kernels.forEach("max_pool_grad", p.planes * p.inSize(),
                  {kernels.input(0), kernels.input(1), kernels.output(0)}, body);
}

void kedge::lower::gpu::generateAveragePool(CallKernels &kernels) {
  rt::calls::expectCounts(kernels.call, 1, 1, 1, 1);
  PoolShape p = readForward(kernels);
  kernels.expectFloat(kernels.output(0));
  bool includePad = rt::calls::boolAttr(kernels.call, "count_include_pad", false);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, sizesOf(p.planes, p.out));
    Memory x = k.shifted(memory[0], index[0] * p.inSize());
    ArrayRef<Num> out = ArrayRef<Num>(index).drop_front();
    Num sum = walkTaps(k, p, out, {k.zeros(x.compute, 1)},
                       [&](Nums place, Nums sum) -> Nums { return {sum[0] + k.load(x, place[0])}; })[0];
    k.store(memory[1], flat, sum / k.convert(tapsOf(k, p, out, includePad), x.compute));
  };
  kernels.forEach("average_pool", p.planes * p.outSize(), {kernels.input(0), kernels.output(0)}, body);
}

void kedge::lower::gpu::generateAveragePoolGrad(CallKernels &kernels) {
  rt::calls::expectCounts(kernels.call, 1, 1, 1, 1);
  PoolShape p = readBackward(kernels);
  kernels.expectFloat(kernels.output(0));
  bool includePad = rt::calls::boolAttr(kernels.call, "count_include_pad", false);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, sizesOf(p.planes, p.in));
    Memory dy = k.shifted(memory[0], index[0] * p.outSize());
    ArrayRef<Num> place = ArrayRef<Num>(index).drop_front();
    Num sum = walkWindows(k, p, place, {k.zeros(dy.compute, 1)}, [&](Nums out, Nums sum) -> Nums {
      Num taps = k.convert(tapsOf(k, p, out, includePad), dy.compute);
      return {sum[0] + k.load(dy, flatten(k, out, p.out)) / taps};
    })[0];
    k.store(memory[1], flat, sum);
  };
  kernels.forEach("average_pool_grad", p.planes * p.inSize(), {kernels.input(0), kernels.output(0)}, body);
}
