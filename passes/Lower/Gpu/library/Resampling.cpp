// onnx.Resize, onnx.Pad, their gradients: each element is a sum of weighted elements that tables name, one
// table an axis; tables are constant data of the module.
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "runtime/calls/Padding.h"
#include "runtime/calls/ResizeTables.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::rt::calls;

namespace {

/// What a kernel reads of one axis.
struct Axis {
  int64_t size, sourceSize;
  AxisTable table;

  /// Element i is made of element i.
  bool isIdentity() const {
    if (size != sourceSize || int64_t(table.sources.size()) != size)
      return false;
    for (int64_t i = 0; i < size; ++i)
      if (table.start[i] != i || table.sources[i] != i || table.weights[i] != 1)
        return false;
    return true;
  }
  /// Sources of every element, when all have as many; else 0.
  int64_t evenCount() const {
    int64_t count = size == 0 ? 0 : table.start[1];
    for (int64_t i = 0; i < size; ++i)
      if (table.start[i + 1] - table.start[i] != count)
        return 0;
    return count;
  }
  /// Every element is one of the source's.
  bool isSelection() const {
    return !hasOutside() && evenCount() == 1 &&
           llvm::all_of(table.weights, [](double weight) { return weight == 1; });
  }
  bool hasOutside() const { return llvm::is_contained(table.outside, 1); }
};

/// Identities that follow each other are one axis.
std::vector<Axis> merge(std::vector<Axis> axes) {
  std::vector<Axis> merged;
  for (Axis &axis : axes) {
    if (!merged.empty() && merged.back().isIdentity() && axis.isIdentity()) {
      int64_t size = merged.back().size * axis.size;
      AxisTable table;
      for (int64_t i = 0; i <= size; ++i)
        table.start.push_back(i);
      for (int64_t i = 0; i < size; ++i)
        table.sources.push_back(i), table.weights.push_back(1), table.outside.push_back(0);
      merged.back() = {size, size, std::move(table)};
    } else {
      merged.push_back(std::move(axis));
    }
  }
  return merged;
}

/// Tables in the kernel's constant data; no memory where an axis needs none.
struct AxisData {
  std::optional<Memory> start, sources, weights, outside;
};

AxisData constantsOf(KernelBuilder &k, const Axis &axis) {
  AxisData data;
  if (axis.isIdentity())
    return data;
  auto integers = [&](const auto &values) {
    return k.constants(SmallVector<int32_t>(values.begin(), values.end()));
  };
  const AxisTable &table = axis.table;
  if (axis.evenCount() == 0)
    data.start = integers(table.start);
  if (!table.sources.empty())
    data.sources = integers(table.sources);
  if (llvm::any_of(table.weights, [](double weight) { return weight != 1; }))
    data.weights = k.constants(SmallVector<float>(table.weights.begin(), table.weights.end()));
  if (axis.hasOutside())
    data.outside = integers(table.outside);
  return data;
}

class WeightedSum {
public:
  WeightedSum(KernelBuilder &k, const std::vector<Axis> &axes, Memory source)
      : k(k), axes(axes), source(source) {
    for (const Axis &axis : axes)
      data.push_back(constantsOf(k, axis));
  }

  /// Whether the element takes the extrapolation value.
  Num isOutside(ArrayRef<Num> index) {
    Num outside = k.index(0) != k.index(0);
    for (size_t d = 0; d < axes.size(); ++d)
      if (data[d].outside)
        outside = outside | (k.load(*data[d].outside, index[d]) != 0);
    return outside;
  }

  Num sum(ArrayRef<Num> index) { return along(0, index, k.index(0)); }

private:
  Num along(size_t d, ArrayRef<Num> index, Num place) {
    if (d == axes.size())
      return k.load(source, place);
    Num base = place * axes[d].sourceSize;
    if (axes[d].isIdentity())
      return along(d + 1, index, base + index[d]);
    auto term = [&](Num entry) {
      Num value = along(d + 1, index, base + k.asIndex(k.load(*data[d].sources, entry)));
      if (!data[d].weights)
        return value;
      return k.convert(k.load(*data[d].weights, entry), source.compute) * value;
    };
    Num zero = k.zeros(source.compute, 1);
    if (int64_t count = axes[d].evenCount()) {
      if (count == 1)
        return term(index[d]);
      Num total = zero;
      for (int64_t i = 0; i < count; ++i)
        total = total + term(index[d] * count + i);
      return total;
    }
    if (!data[d].sources)
      return zero;
    Num begin = k.asIndex(k.load(*data[d].start, index[d])),
        end = k.asIndex(k.load(*data[d].start, index[d] + 1));
    return k.loop(begin, end, k.index(1), {zero},
                  [&](Num entry, Nums total) -> Nums { return {total[0] + term(entry)}; })[0];
  }

  KernelBuilder &k;
  const std::vector<Axis> &axes;
  Memory source;
  SmallVector<AxisData> data;
};

void resample(CallKernels &kernels, llvm::StringRef hint, std::vector<Axis> axes, double extrapolation) {
  int64_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.size;
  axes = merge(std::move(axes));
  SmallVector<int64_t> sizes;
  for (const Axis &axis : axes)
    sizes.push_back(axis.size);
  Operand from = kernels.input(0), to = kernels.output(0);
  if (!llvm::all_of(axes, [](const Axis &axis) { return axis.isSelection(); }))
    kernels.expectFloat(to);
  else
    from = kernels.bits(from), to = kernels.bits(to);
  kernels.forEach(hint, count, {from, to}, [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    WeightedSum sums(k, axes, memory[0]);
    Nums index = k.split(flat, sizes);
    Nums value = k.choose(
        sums.isOutside(index), [&]() -> Nums { return {literalOf(k.zeros(to.compute, 1), extrapolation)}; },
        [&]() -> Nums { return {sums.sum(index)}; });
    k.store(memory[1], flat, value[0]);
  });
}

std::vector<Axis> axesOf(std::vector<AxisTable> tables, const Shape &sizes, const Shape &sourceSizes) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < tables.size(); ++d)
    axes.push_back({sizes[d], sourceSizes[d], std::move(tables[d])});
  return axes;
}

/// Padded places as tables of one source each; none for the constant.
std::vector<AxisTable> padTables(const rt::calls::LibraryCall &call, const Padding &padding,
                                 const Shape &inner, const Shape &padded) {
  std::vector<AxisTable> tables;
  for (const Shape &places : sourceTables(call, padding, inner, padded)) {
    AxisTable table;
    for (int64_t place : places) {
      table.start.push_back(int64_t(table.sources.size()));
      table.outside.push_back(0);
      if (place >= 0)
        table.sources.push_back(place), table.weights.push_back(1);
    }
    table.start.push_back(int64_t(table.sources.size()));
    tables.push_back(std::move(table));
  }
  return tables;
}

/// The bits of `value` as an element.
int64_t bitsOf(Type element, double value) {
  if (isa<IntegerType>(element))
    return int64_t(value);
  auto number = FloatAttr::get(element, value).getValue();
  return number.bitcastToAPInt().getZExtValue();
}

} // namespace

void kedge::lower::gpu::generateResize(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 1, 1);
  const rt::TensorDesc &x = call.inputs[0], &y = call.outputs[0];
  resample(kernels, "resize", axesOf(readResize(call, x, y), y.shape, x.shape),
           floatAttr(call, "extrapolation_value", 0));
}

void kedge::lower::gpu::generateResizeGrad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 1, 1);
  const rt::TensorDesc &dy = call.inputs[0], &dx = call.outputs[0];
  std::vector<AxisTable> tables = readResize(call, dx, dy);
  for (size_t d = 0; d < tables.size(); ++d)
    tables[d] = transpose(tables[d], dx.shape[d]);
  resample(kernels, "resize_grad", axesOf(std::move(tables), dx.shape, dy.shape), 0);
}

void kedge::lower::gpu::generatePad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 2, 1, 1);
  const rt::TensorDesc &in = call.inputs[0], &out = call.outputs[0];
  Padding padding = readPadding(call, in, out);
  if (padding.mode != "constant" && !in.shape.empty())
    return resample(kernels, "pad",
                    axesOf(padTables(call, padding, in.shape, out.shape), out.shape, in.shape), 0);
  std::vector<Inset> dims;
  for (size_t d = 0; d < in.shape.size(); ++d)
    dims.push_back({out.shape[d], in.shape[d], padding.begins[d]});
  std::optional<Operand> value;
  if (int operand = inputIndex(call, 1); operand >= 0)
    value = kernels.input(operand);
  copyInset(kernels, kernels.input(0), kernels.output(0), std::move(dims), value,
            bitsOf(kernels.input(0).element, floatAttr(call, "value", 0)));
}

void kedge::lower::gpu::generatePadGrad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  expectCounts(call, 1, 1, 1, 1);
  const rt::TensorDesc &dy = call.inputs[0], &dx = call.outputs[0];
  std::vector<AxisTable> tables = padTables(call, readPadding(call, dx, dy), dx.shape, dy.shape);
  for (size_t d = 0; d < tables.size(); ++d)
    tables[d] = transpose(tables[d], dx.shape[d]);
  resample(kernels, "pad_grad", axesOf(std::move(tables), dx.shape, dy.shape), 0);
}
