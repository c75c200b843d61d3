#include "runtime/calls/BatchedMatmul.h"
#include <algorithm>

namespace kedge::rt::calls {
namespace {

/// Elements from one matrix to the next in each dimension of `batch`, in an operand of dimensions `own`
/// (aligned to the right, 1 or equal).
Shape batchStrides(const LibraryCall &call, const Shape &batch, const Shape &own, int64_t matrix) {
  Shape strides(batch.size(), 0);
  int64_t stride = matrix;
  for (size_t i = own.size(); i-- > 0;) {
    size_t place = i + batch.size() - own.size();
    if (own[i] != 1 && own[i] != batch[place])
      failCall(call, "batch dimensions {} and {} do not broadcast", own[i], batch[place]);
    strides[place] = own[i] == 1 ? 0 : stride;
    stride *= own[i];
  }
  return strides;
}

BatchLayout layoutOf(const Shape &batch, const Shape &stridesA, const Shape &stridesB) {
  BatchLayout layout;
  for (size_t i = batch.size(); i-- > 0;)
    layout.addOuter({batch[i], stridesA[i], stridesB[i]});
  return layout;
}

Shape broadcastBatch(const LibraryCall &call, const Shape &a, const Shape &b) {
  Shape result = a.size() > b.size() ? a : b;
  const Shape &other = a.size() > b.size() ? b : a;
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t &size = result[i + result.size() - other.size()];
    if (size != other[i] && size != 1 && other[i] != 1)
      failCall(call, "batch dimensions {} and {} do not broadcast", size, other[i]);
    if (size == 1)
      size = other[i];
  }
  return result;
}

/// When B is one matrix and A's rows follow each other, the batch of A is more rows.
void mergeRows(BatchedMatmul &product) {
  const auto &dims = product.layout.dims;
  if (product.transA || dims.size() != 1 || dims[0].size < 2 || dims[0].strideA != product.m * product.k ||
      dims[0].strideB != 0)
    return;
  product.m *= dims[0].size;
  product.layout = {};
}

} // namespace

BatchedMatmul readMatMul(const LibraryCall &call) {
  expectCounts(call, 2, 2, 1, 1);
  Shape a = call.inputs[0].shape, b = call.inputs[1].shape;
  if (a.empty() || b.empty())
    failCall(call, "a product needs operands of rank 1 or more");
  BatchedMatmul result{};
  result.transA = boolAttr(call, "transA", false), result.transB = boolAttr(call, "transB", false);
  bool vectorA = a.size() == 1, vectorB = b.size() == 1;
  if ((vectorA && result.transA) || (vectorB && result.transB))
    failCall(call, "a vector cannot be transposed");
  if (vectorA)
    a.insert(a.begin(), 1);
  if (vectorB)
    b.push_back(1);
  int64_t rowsA = a[a.size() - 2], columnsA = a.back(), rowsB = b[b.size() - 2], columnsB = b.back();
  result.m = result.transA ? columnsA : rowsA, result.k = result.transA ? rowsA : columnsA;
  result.n = result.transB ? rowsB : columnsB;
  if (result.k != (result.transB ? columnsB : rowsB))
    failCall(call, "inner sizes {} and {} differ", result.k, result.transB ? columnsB : rowsB);
  Shape batchA(a.begin(), a.end() - 2), batchB(b.begin(), b.end() - 2);
  Shape batch = broadcastBatch(call, batchA, batchB), expected = batch;
  if (!vectorA)
    expected.push_back(result.m);
  if (!vectorB)
    expected.push_back(result.n);
  expectShape(call, call.outputs[0], expected, "the product");
  result.layout = layoutOf(batch, batchStrides(call, batch, batchA, result.m * result.k),
                           batchStrides(call, batch, batchB, result.k * result.n));
  mergeRows(result);
  return result;
}

BatchedMatmul readGemm(const LibraryCall &call) {
  expectCounts(call, 2, 3, 1, 1);
  const Shape &a = call.inputs[0].shape, &b = call.inputs[1].shape;
  BatchedMatmul result{};
  result.transA = boolAttr(call, "transA", false), result.transB = boolAttr(call, "transB", false);
  if (b.size() != 2 || a.size() < 2 || (result.transA && a.size() != 2))
    failCall(call, "operands of rank 2 are expected");
  result.m = result.transA ? a[1] : product(a, 0, a.size() - 1);
  result.k = result.transA ? a[0] : a.back();
  result.n = result.transB ? b[0] : b[1];
  if (result.k != (result.transB ? b[1] : b[0]))
    failCall(call, "inner sizes {} and {} differ", result.k, result.transB ? b[1] : b[0]);
  Shape expected(a.begin(), a.end() - 1);
  if (result.transA)
    expected = {result.m};
  expected.push_back(result.n);
  expectShape(call, call.outputs[0], expected, "the product");
  return result;
}

Addend readGemmAddend(const LibraryCall &call, const BatchedMatmul &product) {
  Addend addend;
  addend.alpha = floatAttr(call, "alpha", 1), addend.beta = floatAttr(call, "beta", 1);
  addend.index = addend.beta == 0 ? -1 : inputIndex(call, 2);
  if (addend.index < 0)
    return addend;
  Shape shape = call.inputs[addend.index].shape;
  if (shape.size() > 2) // leading dimensions of rows, as A has them
    shape = {calls::product(shape, 0, shape.size() - 1), shape.back()};
  while (shape.size() < 2)
    shape.insert(shape.begin(), 1);
  if ((shape[0] != 1 && shape[0] != product.m) || (shape[1] != 1 && shape[1] != product.n))
    failCall(call, "C does not broadcast to [{},{}]", product.m, product.n);
  addend.columnStride = shape[1] == 1 ? 0 : 1;
  addend.rowStride = shape[0] == 1 ? 0 : shape[1];
  if (product.n == 1 && addend.rowStride == 0)
    addend.columnStride = 1; // one element either way
  return addend;
}

bool isWideSum(const LibraryCall &call) {
  if (!boolAttr(call, "wide", false))
    return false;
  if (dtypeSize(call.inputs[0].type) != 2 || call.outputs[0].type != DType::F32)
    failCall(call, "a wide sum of {} has a result of {}: 16-bit factors and f32 are expected",
             dtypeName(call.inputs[0].type), dtypeName(call.outputs[0].type));
  return true;
}

bool hasPaddedRows(const LibraryCall &call) { return call.attrs.contains("widths"); }

LibraryCall withDenseRows(const LibraryCall &call) {
  if (!hasPaddedRows(call))
    return call;
  LibraryCall dense = call;
  dense.attrs.erase("widths");
  const std::vector<int64_t> widths = intsAttr(call, "widths", {});
  if (widths.size() != 3 || call.inputs.size() < 2)
    failCall(call, "three widths of rows are expected");
  TensorDesc *operands[] = {&dense.inputs[0], &dense.inputs[1], &dense.outputs[0]};
  for (size_t at = 0; at < widths.size(); ++at) {
    Shape &shape = operands[at]->shape;
    if (shape.empty() || widths[at] > shape.back())
      failCall(call, "rows of {} elements are longer than the tensor's", widths[at]);
    shape.back() = widths[at];
  }
  return dense;
}

LibraryCall withoutEpilogue(const LibraryCall &call) {
  if (call.name != "train.fused_product" && call.name != "train.accumulate_product")
    return call;
  if (call.inputs.size() < 2 || call.outputs.empty())
    failCall(call, "two operands and a result are expected");
  LibraryCall plain{"onnx.Gemm", call.attrs, {call.inputs[0], call.inputs[1]}, {call.outputs[0]}};
  plain.attrs.erase("epilogue");
  if (stringAttr(call, "epilogue", "") == "gelu" && call.inputs.size() > 2)
    plain.inputs.push_back(call.inputs[2]);
  return plain;
}

double specialFunctionsOfEpilogue(const LibraryCall &call) {
  const bool isGelu =
      call.name == "train.fused_product" && stringAttr(call, "epilogue", "").starts_with("gelu");
  return isGelu ? static_cast<double>(call.outputs.at(0).elements()) : 0; // a tanh each
}

ScaledOperands readScaledMatmul(const LibraryCall &call) {
  expectCounts(call, 4, 5, 1, 1);
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    const DType type = call.inputs[k].type;
    const bool fits =
        k < 2 ? type == DType::F8E4M3 || type == DType::F8E5M2 : type == (k < 4 ? DType::F32 : DType::BF16);
    if (!fits || (k >= 2 && k < 4 && call.inputs[k].elements() != 1))
      failCall(call, "two operands of 8-bit floats, two numbers of f32 and a C of bf16 are expected");
  }
  const DType sum = call.outputs[0].type;
  if (sum != DType::BF16 && (sum != DType::F32 || call.inputs.size() > 4))
    failCall(call, "a result of bf16 is expected, or without C one of f32; found {}", dtypeName(sum));
  LibraryCall plain{call.name, call.attrs, {call.inputs[0], call.inputs[1]}, call.outputs};
  const bool adds = call.inputs.size() > 4;
  if (adds)
    plain.inputs.push_back(call.inputs[4]);
  ScaledOperands result{adds ? readGemm(plain) : readMatMul(plain), {}};
  result.addend = readGemmAddend(plain, result.product);
  if (result.addend.index >= 0)
    result.addend.index += 2;
  return result;
}

} // namespace kedge::rt::calls
