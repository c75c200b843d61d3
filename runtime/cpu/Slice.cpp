// onnx.Slice and its gradient, onnx.CenterCropPad.
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/StridedCopy.h"
#include <cstring>

namespace kedge::rt::cpu {
namespace {

/// Along one dimension: element i of the slice is element start + i * step of the whole.
struct Range {
  int64_t start, step, size;
};

/// ONNX's clamping: negative bounds count from the end, then are cut to the dimension.
Range clampRange(int64_t start, int64_t end, int64_t step, int64_t size) {
  auto clamp = [&](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  if (step > 0) {
    start = clamp(start, 0, size), end = clamp(end, 0, size);
    return {start, step, std::max<int64_t>(0, (end - start + step - 1) / step)};
  }
  // INT64_MIN + size stays very negative: everything down to the front.
  start = clamp(start, 0, std::max<int64_t>(size - 1, 0)), end = clamp(end, -1, size - 1);
  return {start, step, size == 0 ? 0 : std::max<int64_t>(0, (start - end - step - 1) / -step)};
}

std::vector<Range> readRanges(const LibraryCall &call, const TensorDesc &whole, const TensorDesc &slice) {
  Shape starts = intsAttr(call, "starts", {}), ends = intsAttr(call, "ends", {});
  Shape firstAxes(starts.size()), ones(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i)
    firstAxes[i] = static_cast<int64_t>(i);
  Shape axes = intsAttr(call, "axes", firstAxes), steps = intsAttr(call, "steps", ones);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    failCall(call, "starts, ends, axes and steps must have one length");
  std::vector<Range> ranges;
  for (int64_t size : whole.shape)
    ranges.push_back({0, 1, size});
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = normalAxis(call, axes[i], whole.shape.size());
    if (steps[i] == 0)
      failCall(call, "a step of 0");
    ranges[axis] = clampRange(starts[i], ends[i], steps[i], whole.shape[axis]);
  }
  Shape expected;
  for (const Range &range : ranges)
    expected.push_back(range.size);
  expectShape(call, slice, expected, "the slice");
  return ranges;
}

/// From the whole to the slice, or back into the places of the slice.
StridedCopy rangeCopy(const std::vector<Range> &ranges, const TensorDesc &whole, const TensorDesc &slice,
                      bool toSlice, int threads) {
  Shape wholeStrides = rowMajorStrides(whole.shape), sliceStrides = rowMajorStrides(slice.shape);
  std::vector<CopyDim> dims;
  int64_t offset = 0;
  for (size_t d = 0; d < ranges.size(); ++d) {
    Range range = ranges[d];
    int64_t step = range.step * wholeStrides[d], start = range.start * wholeStrides[d],
            part = sliceStrides[d];
    if (!toSlice && step < 0) { // walk backwards, so that dst goes up
      start += (range.size - 1) * step;
      step = -step;
      offset += start;
      dims.push_back({range.size, -part, step});
      continue;
    }
    offset += start;
    dims.push_back(toSlice ? CopyDim{range.size, step, part} : CopyDim{range.size, part, step});
  }
  int64_t sliceOffset = 0;
  if (!toSlice)
    for (size_t d = 0; d < ranges.size(); ++d)
      if (ranges[d].step < 0)
        sliceOffset += (ranges[d].size - 1) * sliceStrides[d];
  return StridedCopy(std::move(dims), toSlice ? offset : sliceOffset, toSlice ? sliceOffset : offset,
                     whole.type, threads);
}

std::unique_ptr<LibraryKernel> makeSlice(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  const TensorDesc &whole = call.inputs[0], &slice = call.outputs[0];
  expectSameType(call, whole, slice);
  StridedCopy copy = rangeCopy(readRanges(call, whole, slice), whole, slice, true, threads);
  return closure(partialRead(static_cast<double>(slice.bytes())), [copy](Inputs in, Outputs out, void *) { copy.run(in[0], out[0]); });
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
  StridedCopy copy = rangeCopy(readRanges(call, whole, slice), whole, slice, false, threads);
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

void registerSlice() {
  registerKernel("onnx.Slice", makeSlice);
  registerKernel("train.SliceGrad", makeSliceGrad);
  registerKernel("onnx.CenterCropPad", makeCenterCropPad);
}

} // namespace kedge::rt::cpu
