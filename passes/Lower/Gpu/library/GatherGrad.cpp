// train.gather_grad, train.gather_elements_grad, train.gather_nd_grad.
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "passes/Lower/Gpu/library/Indices.h"
#include "runtime/calls/LineMap.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::rt::calls;

void kedge::lower::gpu::generateGatherGrad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 2, 2, 1, 1);
  const rt::TensorDesc &indices = call.inputs[1], &dx = call.outputs[0];
  expectIndexType(call, indices);
  AxisView view = viewAlong(dx.shape, normalAxis(call, intAttr(call, "axis", 0), dx.shape.size()));
  int64_t padding = -1;
  if (hasAttr(call, "padding_idx")) {
    padding = intAttr(call, "padding_idx", 0);
    padding += padding < 0 ? view.size : 0;
  }
  auto slot = [=](KernelBuilder &k, Memory memory, Num position, Checks checks) {
    Num place = placeAt(k, memory, position, view.size, checks);
    return padding < 0 ? place : select(place == padding, k.index(-1), place);
  };
  sumRows(kernels, kernels.input(0), kernels.input(1), kernels.output(0),
          {view.outer, view.size, indices.elements(), view.inner, slot});
}

void kedge::lower::gpu::generateGatherNDGrad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 2, 2, 1, 1);
  IndexTuples tuples =
      readTuples(call, call.outputs[0], call.inputs[1], call.inputs[0], intAttr(call, "batch_dims", 0));
  auto slot = [=](KernelBuilder &k, Memory memory, Num position, Checks checks) {
    return slotOf(k, memory, tuples, position, checks);
  };
  sumRows(kernels, kernels.input(0), kernels.input(1), kernels.output(0),
          {1, tuples.slots, tuples.count, tuples.sliceElements, slot});
}

namespace {

/// Indices of a line that an element of dX compares itself with; longer lines are walked by one thread.
constexpr int64_t kMostCompared = 8;

/// Every element of dX looks for itself among the indices of its line.
void compareElements(CallKernels &kernels, const LineMap &lines, const Shape &dxShape,
                     const Shape &indexShape, int64_t axis) {
  Shape indexStrides = rowMajorStrides(indexShape);
  int64_t elements = product(dxShape);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, dxShape);
    Num inside = k.index(0) == k.index(0), place = index[axis];
    for (size_t d = 0; d < dxShape.size(); ++d)
      if (int64_t(d) != axis && indexShape[d] < dxShape[d])
        inside = inside & (index[d] < indexShape[d]);
    index[axis] = k.index(0);
    Num line = k.dot(index, indexStrides), zero = k.zeros(memory[0].compute, 1);
    Nums sum = k.choose(
        inside,
        [&]() -> Nums {
          Num total = zero;
          for (int64_t i = 0; i < lines.indexSize; ++i) {
            Num at = line + i * lines.indexStride;
            Num hit = placeAt(k, memory[1], at, lines.dataSize) == place;
            total = total + select(hit, k.load(memory[0], at), zero);
          }
          return {total};
        },
        [&]() -> Nums { return {zero}; });
    k.store(memory[2], flat, sum[0]);
  };
  kernels.forEach("elements_grad", elements, {kernels.input(0), kernels.input(1), kernels.output(0)}, body);
}

/// One thread a line, in order of position, on dX full of zeros.
void walkLines(CallKernels &kernels, const LineMap &lines, int64_t elements) {
  Operand result = kernels.output(0), dx = accumulatorOf(kernels, result, elements);
  copyInset(kernels, dx, dx, {{elements, 0, 0}});
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num line) {
    Nums index = k.split(line, lines.sizes);
    Num dataStart = k.dot(index, lines.dataStrides), indexStart = k.dot(index, lines.indexStrides);
    k.loop(k.index(0), k.index(lines.indexSize), k.index(1), [&](Num i) {
      Num at = indexStart + i * lines.indexStride;
      Num place = dataStart + placeAt(k, memory[1], at, lines.dataSize) * lines.dataStride;
      k.store(memory[2], place, k.load(memory[2], place) + k.load(memory[0], at));
    });
  };
  kernels.forEach("elements_grad", lines.count, {kernels.input(0), kernels.input(1), dx}, body);
  if (result.isRounded())
    convertElements(kernels, dx, result, elements);
}

} // namespace

void kedge::lower::gpu::generateGatherElementsGrad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 2, 2, 1, 1);
  const rt::TensorDesc &indices = call.inputs[1], &dx = call.outputs[0];
  expectShape(call, call.inputs[0], indices.shape, "the incoming gradient");
  kernels.expectFloat(kernels.output(0));
  LineMap lines = mapLines(call, dx, indices);
  if (lines.indexSize <= kMostCompared)
    compareElements(kernels, lines, dx.shape, indices.shape,
                    normalAxis(call, intAttr(call, "axis", 0), dx.shape.size()));
  else
    walkLines(kernels, lines, dx.elements());
}
