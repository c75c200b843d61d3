// Ops along one axis, a thread a line: onnx.CumSum, ArgMax, ArgMin, Hardmax, TopK; and those that place
// values by position: onnx.OneHot, EyeLike, Trilu, Range.
#include "passes/Lower/Gpu/library/Generators.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::rt::calls;

namespace {

AxisView axisOf(const CallKernels &kernels, const Shape &shape, int64_t missing) {
  return viewAlong(shape, normalAxis(kernels.call, intAttr(kernels.call, "axis", missing), shape.size()));
}

/// Place of a line's first element.
Num lineStart(const AxisView &view, Num line) {
  return line / view.inner * (view.size * view.inner) + line % view.inner;
}

void expectSigned(const CallKernels &kernels, const rt::TensorDesc &tensor) {
  if (rt::dtypeName(tensor.type)[0] == 'u')
    failCall(kernels.call, "unsigned numbers have no kernel for CUDA here: cast to a signed type");
}

/// Whether a comes before b when the largest (smallest) is first; NaN comes first.
Num precedes(Num a, Num b, bool largest) {
  Num before = largest ? a > b : a < b;
  if (!isa<FloatType>(a.type()))
    return before;
  Num bothNumbers = (a == a) & (b == b);
  return select(bothNumbers, before, (a != a) & (b == b));
}

/// Place along the line of its first (last) extreme element; a NaN counts as extreme.
Num extremeOf(KernelBuilder &k, Memory x, Num first, const AxisView &view, bool largest, bool takeLast) {
  Nums best = {k.index(0), k.load(x, first)};
  return k.loop(k.index(1), k.index(view.size), k.index(1), best, [&](Num i, Nums best) -> Nums {
    Num value = k.load(x, first + i * view.inner);
    Num take = takeLast ? !precedes(best[1], value, largest) : precedes(value, best[1], largest);
    return {select(take, i, best[0]), select(take, value, best[1])};
  })[0];
}

} // namespace

void kedge::lower::gpu::generateCumSum(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 1, 1);
  AxisView view = axisOf(kernels, call.inputs[0].shape, 0);
  bool exclusive = boolAttr(call, "exclusive", false), reverse = boolAttr(call, "reverse", false);
  if (!kernels.input(0).element.isInteger())
    kernels.expectFloat(kernels.input(0));
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num line) {
    Num first = lineStart(view, line);
    k.loop(k.index(0), k.index(view.size), k.index(1), {k.zeros(memory[0].compute, 1)},
           [&](Num i, Nums sum) -> Nums {
             Num at = first + (reverse ? view.size - 1 - i : i) * view.inner;
             Num next = sum[0] + k.load(memory[0], at);
             k.store(memory[1], at, exclusive ? sum[0] : next);
             return {next};
           });
  };
  kernels.forEach("cumsum", view.outer * view.inner, {kernels.input(0), kernels.output(0)}, body);
}

void kedge::lower::gpu::generateArgExtreme(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 1, 1);
  AxisView view = axisOf(kernels, call.inputs[0].shape, 0);
  bool takeLast = boolAttr(call, "select_last_index", false), largest = call.name == "onnx.ArgMax";
  expectSigned(kernels, call.inputs[0]);
  if (view.size == 0 && view.outer * view.inner > 0)
    failCall(call, "expected an axis with elements");
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num line) {
    Num best = extremeOf(k, memory[0], lineStart(view, line), view, largest, takeLast);
    k.store(memory[1], line, k.convert(best, memory[1].element));
  };
  kernels.forEach("arg_extreme", view.outer * view.inner, {kernels.input(0), kernels.output(0)}, body);
}

void kedge::lower::gpu::generateHardmax(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 1, 1);
  AxisView view = axisOf(kernels, call.inputs[0].shape, -1);
  kernels.expectFloat(kernels.input(0));
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num line) {
    Num first = lineStart(view, line), best = extremeOf(k, memory[0], first, view, true, false);
    Num zero = k.zeros(memory[1].compute, 1), one = literalOf(zero, 1);
    k.loop(k.index(0), k.index(view.size), k.index(1),
           [&](Num i) { k.store(memory[1], first + i * view.inner, select(i == best, one, zero)); });
  };
  kernels.forEach("hardmax", view.size == 0 ? 0 : view.outer * view.inner,
                  {kernels.input(0), kernels.output(0)}, body);
}

void kedge::lower::gpu::generateTopK(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 2, 2);
  AxisView view = axisOf(kernels, call.inputs[0].shape, -1),
           chosen = axisOf(kernels, call.outputs[0].shape, -1);
  bool largest = boolAttr(call, "largest", true);
  expectSigned(kernels, call.inputs[0]);
  if (!kernels.input(0).element.isInteger())
    kernels.expectFloat(kernels.input(0));
  // Each place takes the first of those that come after the one before: k walks over the line.
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num line) {
    Num first = lineStart(view, line), to = lineStart(chosen, line), one = k.index(1);
    auto before = [&](Num a, Num aPlace, Num b, Num bPlace) {
      Num isAfter = precedes(b, a, largest);
      return precedes(a, b, largest) | select(isAfter, literalOf(isAfter, 0), aPlace < bPlace);
    };
    Nums start = {k.zeros(memory[0].compute, 1), k.index(-1)};
    k.loop(k.index(0), k.index(chosen.size), one, start, [&](Num rank, Nums last) {
      Nums best = k.loop(k.index(0), k.index(view.size), one, start, [&](Num i, Nums best) -> Nums {
        Num value = k.load(memory[0], first + i * view.inner);
        Num isLeft = (last[1] < 0) | before(last[0], last[1], value, i);
        Num take = isLeft & ((best[1] < 0) | before(value, i, best[0], best[1]));
        return {select(take, value, best[0]), select(take, i, best[1])};
      });
      k.store(memory[1], to + rank * view.inner, best[0]);
      k.store(memory[2], to + rank * view.inner, k.convert(best[1], memory[2].element));
      return best;
    });
  };
  kernels.forEach("top_k", view.outer * view.inner, {kernels.input(0), kernels.output(0), kernels.output(1)},
                  body);
}

void kedge::lower::gpu::generateOneHot(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 2, 2, 1, 1);
  const rt::TensorDesc &y = call.outputs[0];
  AxisView view = axisOf(kernels, y.shape, -1);
  Operand indices = kernels.input(0);
  if (!indices.element.isInteger())
    kernels.expectFloat(indices);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, {view.outer, view.size, view.inner});
    Num given = k.convert(k.load(memory[0], index[0] * view.inner + index[2]), k.b.getI64Type());
    Num hot = select(given < 0, given + view.size, given);
    Num isHot = k.convert(index[1], k.b.getI64Type()) == hot;
    k.store(memory[2], flat, k.load(memory[1], k.asIndex(isHot)));
  };
  kernels.forEach("one_hot", y.elements(),
                  {indices, kernels.bits(kernels.input(1)), kernels.bits(kernels.output(0))}, body);
}

void kedge::lower::gpu::generateEyeLike(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  const rt::TensorDesc &y = call.outputs[0];
  if (y.shape.size() != 2)
    failCall(call, "a matrix is expected");
  int64_t diagonal = intAttr(call, "k", 0);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Nums index = k.split(flat, y.shape);
    Num zero = k.zeros(memory[0].compute, 1);
    k.store(memory[0], flat, select(index[0] + diagonal == index[1], literalOf(zero, 1), zero));
  };
  kernels.forEach("eye", y.elements(), {kernels.output(0)}, body);
}

void kedge::lower::gpu::generateTrilu(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 1, 1);
  const Shape &shape = call.inputs[0].shape;
  if (shape.size() < 2)
    failCall(call, "a tensor of matrices is expected");
  bool upper = boolAttr(call, "upper", true);
  int64_t diagonal = intAttr(call, "k", 0), rows = shape[shape.size() - 2], columns = shape.back();
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Num row = flat / columns % rows, column = flat % columns;
    Num kept = upper ? column >= row + diagonal : column <= row + diagonal;
    k.store(memory[1], flat, select(kept, k.load(memory[0], flat), k.zeros(memory[0].element, 1)));
  };
  kernels.forEach("trilu", product(shape), {kernels.bits(kernels.input(0)), kernels.bits(kernels.output(0))},
                  body);
}

void kedge::lower::gpu::generateRange(CallKernels &kernels) {
  expectCounts(kernels.call, 2, 2, 1, 1);
  Operand y = kernels.output(0);
  if (!y.element.isInteger())
    kernels.expectFloat(y);
  auto body = [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    Num start = k.load(memory[0], k.index(0)), delta = k.load(memory[1], k.index(0));
    k.store(memory[2], flat, start + k.convert(flat, y.compute) * delta);
  };
  kernels.forEach("range", kernels.call.outputs[0].elements(), {kernels.input(0), kernels.input(1), y}, body);
}
