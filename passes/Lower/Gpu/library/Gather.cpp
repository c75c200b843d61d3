// onnx.Gather, onnx.GatherElements, onnx.GatherND: a thread moves one vector of a gathered row.
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "passes/Lower/Gpu/library/Indices.h"
#include "runtime/calls/LineMap.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::rt::calls;

Num kedge::lower::gpu::placeAt(KernelBuilder &k, Memory indices, Num position, int64_t size, Checks checks) {
  Num value = k.load(indices, position);
  value = select(value < 0, value + size, value);
  if (checks == Checks::Trap)
    k.trapUnless((value >= 0) & (value < size));
  return k.asIndex(value);
}

Num kedge::lower::gpu::slotOf(KernelBuilder &k, Memory indices, const IndexTuples &tuples, Num tuple,
                              Checks checks) {
  Num slot = tuples.perBatch == tuples.count ? k.index(0) : tuple / tuples.perBatch * tuples.slotsPerBatch;
  for (int64_t d = 0; d < tuples.depth; ++d)
    slot = slot + placeAt(k, indices, tuple * tuples.depth + d, tuples.sizes[d], checks) * tuples.strides[d];
  return slot;
}

void kedge::lower::gpu::generateGather(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 2, 2, 1, 1);
  const rt::TensorDesc &data = call.inputs[0], &indices = call.inputs[1];
  expectIndexType(call, indices);
  AxisView view = viewAlong(data.shape, normalAxis(call, intAttr(call, "axis", 0), data.shape.size()));
  int64_t count = indices.elements();
  Operand from = kernels.bits(kernels.input(0)), to = kernels.bits(kernels.output(0));
  unsigned width = vectorWidth(from.element, {view.inner});
  int64_t vectors = view.inner / width;
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, {view.outer, count, vectors});
    Num place = placeAt(k, memory[1], index[1], view.size);
    Num row = index[0] * view.size + place;
    k.store(memory[2], flat * width, k.load(memory[0], row * view.inner + index[2] * width, width));
  };
  kernels.forEach("gather", view.outer * count * vectors, {from, kernels.input(1), to}, body);
}

void kedge::lower::gpu::generateGatherElements(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 2, 2, 1, 1);
  const rt::TensorDesc &data = call.inputs[0], &indices = call.inputs[1];
  mapLines(call, data, indices); // checks
  int64_t axis = normalAxis(call, intAttr(call, "axis", 0), data.shape.size());
  Shape strides = rowMajorStrides(data.shape);
  Operand from = kernels.bits(kernels.input(0)), to = kernels.bits(kernels.output(0));
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, indices.shape);
    index[axis] = placeAt(k, memory[1], flat, data.shape[axis]);
    k.store(memory[2], flat, k.load(memory[0], k.dot(index, strides)));
  };
  kernels.forEach("gather_elements", indices.elements(), {from, kernels.input(1), to}, body);
}

void kedge::lower::gpu::generateGatherND(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 2, 2, 1, 1);
  IndexTuples tuples =
      readTuples(call, call.inputs[0], call.inputs[1], call.outputs[0], intAttr(call, "batch_dims", 0));
  Operand from = kernels.bits(kernels.input(0)), to = kernels.bits(kernels.output(0));
  unsigned width = vectorWidth(from.element, {tuples.sliceElements});
  int64_t vectors = tuples.sliceElements / width;
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, {tuples.count, vectors});
    Num slot = slotOf(k, memory[1], tuples, index[0]);
    k.store(memory[2], flat * width,
            k.load(memory[0], slot * tuples.sliceElements + index[1] * width, width));
  };
  kernels.forEach("gather_nd", tuples.count * vectors, {from, kernels.input(1), to}, body);
}
