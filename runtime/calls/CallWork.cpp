// What calls of library kernels compute and move: one function for each family of kernels.
#include "runtime/calls/AttentionShape.h"
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/Call.h"
#include "runtime/calls/LineMap.h"
#include "runtime/calls/PoolShape.h"
#include "runtime/calls/QuantizedOperand.h"
#include "runtime/calls/ResizeTables.h"
#include "runtime/calls/Types.h"
#include "runtime/calls/WinogradShape.h"
#include "runtime/format/Convert.h"
#include <cmath>
#include <map>

namespace kedge::rt::calls {
namespace {

double elementsOf(const TensorDesc &tensor) { return static_cast<double>(tensor.elements()); }

/// Some kernels compute rows of neighbouring results, element by element for others.
CallWork vectorWork(double flops) { return {CallWork::Kind::Vector, flops, 0, {}, {}, 0}; }

/// Filters that see one channel are stencils over planes.
CallWork workOfConvolution(const LibraryCall &call) {
  const ConvRoles roles = convRolesOf(call);
  const ConvShape c = readConv(call, roles).withLongRows();
  const bool back = roles.kind == ConvRoles::Kind::Data, ofFilter = roles.kind == ConvRoles::Kind::Filter;
  if (c.isDepthwise())
    return vectorWork(2 * static_cast<double>(c.batch * c.filters * c.outSize()) *
                      static_cast<double>(c.taps()));
  const bool isF32 = call.outputs[0].type == DType::F32;
  if (isF32 && !ofFilter && isWinograd(c, back))
    return winogradWork(c, back);
  if (isF32 && ofFilter && isWinogradFilter(c))
    return winogradFilterWork(c);
  return c.work(back ? c.groupChannels() : c.groupFilters());
}

CallWork workOfIntegerConvolution(const LibraryCall &call) {
  expectCounts(call, 2, 4, 1, 1);
  const ConvShape c = readConv(call, call.inputs[0], call.inputs[1], call.outputs[0]);
  return c.work(c.groupFilters());
}

template <BatchedMatmul (*read)(const LibraryCall &)> CallWork workOfMatmul(const LibraryCall &call) {
  const std::optional<QuantizedOperand> fewBits = readQuantizedOperand(call);
  return read(fewBits ? withWholeOperand(call, *fewBits) : call).work();
}

/// The product of the operands at these positions, without scales and zero points.
template <size_t b> CallWork workOfIntegerMatmul(const LibraryCall &call) {
  expectCounts(call, b + 1, 8, 1, 1);
  return readMatMul({call.name, call.attrs, {call.inputs[0], call.inputs[b]}, call.outputs}).work();
}

CallWork workOfPackedProduct(const LibraryCall &call) {
  expectCounts(call, 2, 3, 1, 1);
  if (call.inputs[0].shape.size() != 2)
    failCall(call, "expected a matrix");
  const double terms = static_cast<double>(call.inputs[0].shape[1]);
  return {CallWork::Kind::Matmul, 2 * elementsOf(call.outputs[0]) * terms, 0, {}, {}, 0};
}

/// Each place of the experts multiplies a row by a matrix.
template <size_t matrix> CallWork workOfGroupedMatmul(const LibraryCall &call) {
  expectCounts(call, 3, 3, 1, 1);
  const Shape &shape = (matrix < 3 ? call.inputs[matrix] : call.outputs[0]).shape;
  if (shape.size() != 3)
    failCall(call, "expected matrices of rank 3");
  const double places = hasAttr(call, "expected") ? static_cast<double>(calls::intAttr(call, "expected", 0))
                                                  : elementsOf(call.inputs[1]);
  const double products = places * static_cast<double>(product(shape, 1, 3));
  CallWork work{CallWork::Kind::Matmul, 2 * products, 0, {}, {}, 0};
  if (matrix < 3 && hasAttr(call, "load")) { // matrices of experts without rows are not read
    const std::vector<double> load = floatsAttr(call, "load", {});
    const auto used =
        static_cast<double>(std::count_if(load.begin(), load.end(), [](double x) { return x > 0; }));
    work.bytesRead = static_cast<double>(call.inputs[0].bytes() + call.inputs[1].bytes()) +
                     static_cast<double>(call.inputs[2].bytes()) * used / static_cast<double>(load.size());
  }
  return work;
}

CallWork workOfAttention(const LibraryCall &call) {
  const bool packed = boolAttr(call, "packed", false);
  expectCounts(call, packed ? 1 : 3, packed ? 7 : 9, 2, 2);
  return readAttention(call, 0, call.outputs[0], packed ? 1 : 3).work(1, 1);
}

CallWork workOfAttentionGrad(const LibraryCall &call) {
  const bool packed = boolAttr(call, "packed", false);
  const size_t tensors = packed ? 4 : 6, results = packed ? 1 : 3;
  expectCounts(call, tensors, tensors + 5, results, results);
  return readAttention(call, 1, call.inputs[packed ? 2 : 4], tensors).work(3, 2);
}

CallWork workOfMaxPool(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 2);
  const PoolShape p = readPool(call, call.inputs[0], call.outputs[0]);
  return isFloat(call.inputs[0].type) && p.hasRows() ? p.workByRows() : p.work();
}

/// Choosing is cheap beside adding to a place of dX for each window.
CallWork workOfMaxPoolGrad(const LibraryCall &call) {
  expectCounts(call, 2, 2, 1, 1);
  const PoolShape p = readPool(call, call.outputs[0], call.inputs[0]);
  return p.hasRows() ? irregularWork(p.windows()) : p.work();
}

CallWork workOfAveragePool(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  return readPool(call, call.inputs[0], call.outputs[0]).work();
}

CallWork workOfAveragePoolGrad(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  return readPool(call, call.outputs[0], call.inputs[0]).work();
}

/// Rows share no product: each reads its weights for itself.
template <int gates, bool hasCellState> CallWork workOfRecurrent(const LibraryCall &call) {
  expectCounts(call, 3, 8, 0, 3);
  const Shape &x = call.inputs[0].shape, &w = call.inputs[1].shape, &r = call.inputs[2].shape;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3)
    failCall(call, "X, W and R must have rank 3");
  const double cells = static_cast<double>(x[0] * x[1] * w[0] * r[2]);
  CallWork work = vectorWork(2 * cells * gates * static_cast<double>(x[2] + r[2]));
  work.specialFunctions = cells * (gates + hasCellState);
  return work;
}

/// Of what is gathered from, only the rows that indices name are read.
CallWork workOfGather(const LibraryCall &call) {
  expectCounts(call, 2, 2, 1, 1);
  return partialRead(static_cast<double>(call.outputs[0].bytes() + call.inputs[1].bytes()));
}

CallWork workOfGatherElements(const LibraryCall &call) {
  expectCounts(call, 2, 2, 1, 1);
  CallWork work = irregularWork(elementsOf(call.outputs[0]));
  work.bytesRead = static_cast<double>(call.outputs[0].bytes() + call.inputs[1].bytes());
  return work;
}

/// An addition for every element of the incoming gradient.
CallWork workOfRowSums(const LibraryCall &call) {
  expectCounts(call, 2, 3, 1, 1);
  return vectorWork(elementsOf(call.inputs[0]));
}

CallWork workOfGatherElementsGrad(const LibraryCall &call) {
  expectCounts(call, 2, 2, 1, 1);
  const LineMap lines = mapLines(call, call.outputs[0], call.inputs[1]);
  return irregularWork(static_cast<double>(lines.count) * static_cast<double>(lines.indexSize));
}

template <size_t operand> CallWork workOfScatter(const LibraryCall &call) {
  expectCounts(call, 3, 3, 1, 1);
  return irregularWork(elementsOf(call.inputs[operand]));
}

CallWork workOfSlice(const LibraryCall &call) {
  expectCounts(call, 1, 5, 1, 1);
  return partialRead(static_cast<double>(call.outputs[0].bytes()));
}

CallWork workOfEyeLike(const LibraryCall &) { return partialRead(0); }

CallWork workOfPad(const LibraryCall &call) {
  expectCounts(call, 1, 2, 1, 1);
  const bool isConstant = stringAttr(call, "mode", "constant") == "constant" || call.inputs[0].shape.empty();
  return isConstant ? CallWork{} : irregularWork(elementsOf(call.outputs[0]));
}

/// Element by element of what comes in.
CallWork workOfLines(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  return irregularWork(elementsOf(call.inputs[0]));
}

/// A heap of k takes about log2 k steps an element.
CallWork workOfTopK(const LibraryCall &call) {
  expectCounts(call, 1, 1, 2, 2);
  const Shape &shape = call.outputs[0].shape;
  const double k = static_cast<double>(shape.at(normalAxis(call, intAttr(call, "axis", -1), shape.size())));
  return irregularWork(elementsOf(call.inputs[0]) * std::log2(2.0 + k));
}

/// A multiply-add for every source of every place.
CallWork workOfTables(const std::vector<AxisTable> &tables) {
  double sources = 1;
  for (const AxisTable &table : tables)
    sources *= static_cast<double>(table.sources.size());
  return irregularWork(2 * sources);
}

CallWork workOfResize(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &x = call.inputs[0], &y = call.outputs[0];
  return isFloat(x.type) ? workOfTables(readResize(call, x, y)) : irregularWork(elementsOf(y));
}

CallWork workOfResizeGrad(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &dy = call.inputs[0], &dx = call.outputs[0];
  std::vector<AxisTable> tables = readResize(call, dx, dy);
  for (size_t d = 0; d < tables.size(); ++d)
    tables[d] = transpose(tables[d], dx.shape[d]);
  return workOfTables(tables);
}

/// `passes` multiply-adds for each tap of each point of each channel of X.
CallWork workOfSampling(const LibraryCall &call, const TensorDesc &x, const TensorDesc &grid, size_t passes) {
  const size_t rank = x.shape.size() - 2;
  if (x.shape.size() < 3 || grid.shape.size() != rank + 2)
    failCall(call, "expected X [N, C, D1..Dr] and a grid [N, E1..Er, r]");
  const std::string mode = stringAttr(call, "mode", "linear");
  const double tapsAlong = mode == "nearest" ? 1 : mode.ends_with("cubic") ? 4 : 2;
  const double points = static_cast<double>(x.shape[0] * x.shape[1] * product(grid.shape, 1, rank + 1));
  return irregularWork(2 * static_cast<double>(passes) * std::pow(tapsAlong, static_cast<double>(rank)) *
                       points);
}

CallWork workOfGridSample(const LibraryCall &call) {
  expectCounts(call, 2, 2, 1, 1);
  return workOfSampling(call, call.inputs[0], call.inputs[1], 1);
}

CallWork workOfGridSampleGrad(const LibraryCall &call) {
  expectCounts(call, 3, 3, 2, 2);
  return workOfSampling(call, call.inputs[1], call.inputs[2], call.inputs[1].shape.size());
}

CallWork workOfScaledMatmul(const LibraryCall &call) { return readScaledMatmul(call).product.work(); }

/// On average over updates: a refresh is a product and a QR decomposition.
CallWork workOfEigenbasis(const LibraryCall &call) {
  expectCounts(call, 3, 3, 2, 2);
  const double n = static_cast<double>(call.inputs[0].shape[0]);
  const auto frequency = static_cast<double>(intAttr(call, "frequency", 1));
  return {CallWork::Kind::Irregular, 5 * n * n * n / frequency, 0, {}, {}, 0};
}

/// On average over updates: products of the matrix with itself, and their eigenvectors.
CallWork workOfLeadingBasis(const LibraryCall &call) {
  expectCounts(call, 3, 3, 1, 1);
  const auto axis = static_cast<size_t>(intAttr(call, "axis", 0));
  const auto n = static_cast<double>(call.inputs[0].shape.at(axis)),
             others = static_cast<double>(call.inputs[0].shape.at(1 - axis));
  const auto frequency = static_cast<double>(intAttr(call, "frequency", 1));
  return {CallWork::Kind::Irregular, (2 * n * n * others + 10 * n * n * n) / frequency, 0, {}, {}, 0};
}

using WorkFunction = CallWork (*)(const LibraryCall &);

const std::map<std::string_view, WorkFunction> kWork = {
    {"onnx.MatMul", workOfMatmul<readMatMul>},
    {"onnx.Gemm", workOfMatmul<readGemm>},
    {"onnx.MatMulInteger", workOfIntegerMatmul<1>},
    {"onnx.QLinearMatMul", workOfIntegerMatmul<3>},
    {"train.sum_products", workOfMatmul<readMatMul>},
    {"train.packed_product", workOfPackedProduct},
    {"train.scaled_product", workOfScaledMatmul},
    {"train.grouped_matmul", workOfGroupedMatmul<2>},
    {"train.grouped_matmul_grad", workOfGroupedMatmul<3>},
    {"onnx.Conv", workOfConvolution},
    {"onnx.ConvTranspose", workOfConvolution},
    {"onnx.ConvInteger", workOfIntegerConvolution},
    {"train.conv_grad_input", workOfConvolution},
    {"train.conv_grad_weight", workOfConvolution},
    {"train.conv_transpose_grad_input", workOfConvolution},
    {"train.conv_transpose_grad_weight", workOfConvolution},
    {"train.attention", workOfAttention},
    {"train.attention_grad", workOfAttentionGrad},
    {"onnx.MaxPool", workOfMaxPool},
    {"train.max_pool_grad", workOfMaxPoolGrad},
    {"onnx.AveragePool", workOfAveragePool},
    {"train.average_pool_grad", workOfAveragePoolGrad},
    {"onnx.RNN", workOfRecurrent<1, false>},
    {"onnx.GRU", workOfRecurrent<3, false>},
    {"onnx.LSTM", workOfRecurrent<4, true>},
    {"onnx.Gather", workOfGather},
    {"onnx.GatherND", workOfGather},
    {"onnx.GatherElements", workOfGatherElements},
    {"train.gather_grad", workOfRowSums},
    {"train.add_gather_grad", workOfRowSums},
    {"train.gather_nd_grad", workOfRowSums},
    {"train.gather_elements_grad", workOfGatherElementsGrad},
    {"onnx.Scatter", workOfScatter<1>},
    {"onnx.ScatterElements", workOfScatter<1>},
    {"onnx.ScatterND", workOfScatter<2>},
    {"onnx.Slice", workOfSlice},
    {"onnx.EyeLike", workOfEyeLike},
    {"onnx.Pad", workOfPad},
    {"train.pad_grad", workOfLines},
    {"onnx.CumSum", workOfLines},
    {"train.eigenbasis", workOfEigenbasis},
    {"train.leading_basis", workOfLeadingBasis},
    {"onnx.ArgMax", workOfLines},
    {"onnx.ArgMin", workOfLines},
    {"onnx.Hardmax", workOfLines},
    {"onnx.TopK", workOfTopK},
    {"onnx.Resize", workOfResize},
    {"train.resize_grad", workOfResizeGrad},
    {"onnx.GridSample", workOfGridSample},
    {"train.grid_sample_grad", workOfGridSampleGrad},
};

} // namespace

CallWork workOf(const LibraryCall &given) {
  const LibraryCall call = withoutEpilogue(withDenseRows(given));
  const auto found = kWork.find(call.name);
  if (found == kWork.end())
    return {};
  CallWork work = found->second(call);
  work.specialFunctions += specialFunctionsOfEpilogue(given);
  return work;
}

} // namespace kedge::rt::calls
