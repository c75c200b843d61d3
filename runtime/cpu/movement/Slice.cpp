// train.slice_grad, onnx.CenterCropPad.
#include "runtime/calls/CopyPlans.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/movement/StridedCopy.h"
#include <cstring>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

/// From the slice back into the places of the whole.
StridedCopy backCopy(const std::vector<SliceRange> &ranges, const TensorDesc &whole, const TensorDesc &slice,
                     int threads) {
  Shape wholeStrides = rowMajorStrides(whole.shape), sliceStrides = rowMajorStrides(slice.shape);
  std::vector<CopyDim> dims;
  int64_t to = 0, from = 0;
  for (size_t d = 0; d < ranges.size(); ++d) {
    SliceRange range = ranges[d];
    int64_t step = range.step * wholeStrides[d], part = sliceStrides[d];
    to += range.start * wholeStrides[d];
    if (step < 0) { // walk backwards, so that dst goes up
      to += (range.size - 1) * step;
      from += (range.size - 1) * part;
      step = -step, part = -part;
    }
    dims.push_back({range.size, part, step});
  }
  return StridedCopy(std::move(dims), from, to, whole.type, threads);
}

void clearBytes(void *memory, size_t bytes, int threads) {
  parallelFor(threads, static_cast<int64_t>(bytes), 65536, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<char *>(memory) + begin, 0, end - begin);
  });
}

std::unique_ptr<LibraryKernel> makeSliceGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &slice = call.inputs[0], &whole = call.outputs[0];
  expectSameType(call, whole, slice);
  StridedCopy copy = backCopy(readRanges(call, whole, slice), whole, slice, threads);
  size_t bytes = whole.bytes() == slice.bytes() ? 0 : whole.bytes();
  return closure([=](Inputs in, Outputs out, void *) {
    clearBytes(out[0], bytes, threads);
    copy.run(in[0], out[0]);
  });
}

std::unique_ptr<LibraryKernel> makeCenterCropPad(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &in = call.inputs[0], &out = call.outputs[0];
  expectSameType(call, in, out);
  if (in.shape.size() != out.shape.size())
    failCall(call, "operand and result differ in rank");
  Shape inStrides = rowMajorStrides(in.shape), outStrides = rowMajorStrides(out.shape);
  std::vector<CopyDim> dims;
  int64_t from = 0, to = 0;
  for (size_t d = 0; d < in.shape.size(); ++d) {
    int64_t difference = in.shape[d] - out.shape[d];
    from += std::max<int64_t>(difference, 0) / 2 * inStrides[d];
    to += std::max<int64_t>(-difference, 0) / 2 * outStrides[d];
    dims.push_back({std::min(in.shape[d], out.shape[d]), inStrides[d], outStrides[d]});
  }
  StridedCopy copy(std::move(dims), from, to, in.type, threads);
  return closure([=, bytes = out.bytes()](Inputs inputs, Outputs outputs, void *) {
    clearBytes(outputs[0], bytes, threads);
    copy.run(inputs[0], outputs[0]);
  });
}

} // namespace

KEDGE_REGISTER(Slice) {
  registerKernel("train.slice_grad", makeSliceGrad);
  registerKernel("onnx.CenterCropPad", makeCenterCropPad);
}

} // namespace kedge::rt::cpu
