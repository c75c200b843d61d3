// onnx.ScatterElements, onnx.ScatterND: a copy of the data, then updates in order of position. A thread owns
// all places that its updates may hit, so that the last one wins and sums have one order.
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "passes/Lower/Gpu/library/Indices.h"
#include "runtime/calls/LineMap.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::rt::calls;

namespace {

enum class Reduction { None, Add, Mul, Max, Min };

/// Also decides in which type the data is read: only moved, it is bits.
Reduction readReduction(const CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  const char *names[] = {"none", "add", "mul", "max", "min"};
  std::string name = stringAttr(call, "reduction", "none");
  auto found = llvm::find(names, name);
  if (found == std::end(names))
    failCall(call, "reduction '{}', expected none, add, mul, max or min", name);
  auto reduction = static_cast<Reduction>(found - std::begin(names));
  rt::DType type = call.inputs[0].type;
  if (reduction != Reduction::None && (type == rt::DType::Bool || rt::dtypeName(type)[0] == 'u'))
    failCall(call, "reduction '{}' of {} has no kernel for CUDA: cast to a signed type", name,
             rt::dtypeName(type));
  if (reduction != Reduction::None && !kernels.input(0).element.isInteger())
    kernels.expectFloat(kernels.input(0));
  return reduction;
}

Num combine(Reduction reduction, Num place, Num update) {
  switch (reduction) {
  case Reduction::None:
    return update;
  case Reduction::Add:
    return place + update;
  case Reduction::Mul:
    return place * update;
  case Reduction::Max:
    return select((update > place) | (update != update), update, place);
  case Reduction::Min:
    return select((update < place) | (update != update), update, place);
  }
  llvm_unreachable("all reductions are handled");
}

struct Operands {
  Operand data, indices, updates, result; ///< result: what is updated in place
  Reduction reduction;

  explicit Operands(CallKernels &kernels)
      : data(kernels.input(0)), indices(kernels.input(1)), updates(kernels.input(2)),
        result(kernels.output(0)), reduction(readReduction(kernels)) {
    int64_t elements = kernels.call.inputs[0].elements();
    if (reduction == Reduction::None)
      data = kernels.bits(data), updates = kernels.bits(updates), result = kernels.bits(result);
    result = accumulatorOf(kernels, result, elements);
    if (data.isRounded())
      convertElements(kernels, data, result, elements);
    else
      copyStrided(kernels, data, result, {{elements, 1, 1}}, 0, 0);
  }
  /// After the last update.
  void finish(CallKernels &kernels) const {
    if (data.isRounded())
      convertElements(kernels, result, kernels.output(0), kernels.call.inputs[0].elements());
  }
  void update(KernelBuilder &k, Memory place, Num at, Num value) const {
    k.store(place, at, reduction == Reduction::None ? value : combine(reduction, k.load(place, at), value));
  }
};

} // namespace

void kedge::lower::gpu::generateScatterElements(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 3, 3, 1, 1);
  LineMap lines = mapLines(call, call.inputs[0], call.inputs[1]);
  Operands operands(kernels);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num line) {
    Nums index = k.split(line, lines.sizes);
    Num dataStart = k.dot(index, lines.dataStrides), indexStart = k.dot(index, lines.indexStrides);
    k.loop(k.index(0), k.index(lines.indexSize), k.index(1), [&](Num i) {
      Num at = indexStart + i * lines.indexStride, place = placeAt(k, memory[0], at, lines.dataSize);
      operands.update(k, memory[2], dataStart + place * lines.dataStride, k.load(memory[1], at));
    });
  };
  kernels.forEach("scatter_elements", lines.count, {operands.indices, operands.updates, operands.result},
                  body);
  operands.finish(kernels);
}

void kedge::lower::gpu::generateScatterND(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 3, 3, 1, 1);
  IndexTuples tuples = readTuples(call, call.inputs[0], call.inputs[1], call.inputs[2], 0);
  Operands operands(kernels);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num column) {
    k.loop(k.index(0), k.index(tuples.count), k.index(1), [&](Num i) {
      Num slot = slotOf(k, memory[0], tuples, i);
      Num update = k.load(memory[1], i * tuples.sliceElements + column);
      operands.update(k, memory[2], slot * tuples.sliceElements + column, update);
    });
  };
  kernels.forEach("scatter_nd", tuples.sliceElements, {operands.indices, operands.updates, operands.result},
                  body);
  operands.finish(kernels);
}
