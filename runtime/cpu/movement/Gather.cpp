// onnx.Gather, onnx.GatherElements, onnx.GatherND.
#include "runtime/calls/GatherIndex.h"
#include "runtime/calls/IndexTuples.h"
#include "runtime/calls/LineMap.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include <cstring>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

std::unique_ptr<LibraryKernel> makeGather(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &data = call.inputs[0], &indices = call.inputs[1], &out = call.outputs[0];
  expectSameType(call, data, out);
  expectIndexType(call, indices);
  int64_t axis = normalAxis(call, intAttr(call, "axis", 0), data.shape.size());
  Shape expected(data.shape.begin(), data.shape.begin() + axis);
  expected.insert(expected.end(), indices.shape.begin(), indices.shape.end());
  expected.insert(expected.end(), data.shape.begin() + axis + 1, data.shape.end());
  expectShape(call, out, expected, "the result");
  AxisView view = viewAlong(data.shape, axis);
  int64_t count = indices.elements();
  size_t run = view.inner * dtypeSize(data.type);
  bool wide = indices.type == DType::I64;
  return closure([=, what = describe(call)](Inputs in, Outputs outputs, void *) {
    const char *from = static_cast<const char *>(in[0]);
    char *to = static_cast<char *>(outputs[0]);
    IndexReader index{in[1], wide};
    FirstBad bad;
    parallelFor(threads, view.outer * count, grainFor(2 * run), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t outer = row / count, position = row % count;
        int64_t place = resolveIndex(index[position], view.size, position, bad);
        if (place >= 0)
          std::memcpy(to + row * run, from + (outer * view.size + place) * run, run);
      }
    });
    if (bad.any())
      failIndex(what, index, bad, view.size);
  });
}

std::unique_ptr<LibraryKernel> makeGatherElements(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &data = call.inputs[0], &indices = call.inputs[1], &out = call.outputs[0];
  expectSameType(call, data, out);
  expectShape(call, out, indices.shape, "the result");
  LineMap lines = mapLines(call, data, indices);
  bool wide = indices.type == DType::I64;
  return dispatchSize(data.type, [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    return closure([=, what = describe(call)](Inputs in, Outputs outputs, void *) {
      const T *from = static_cast<const T *>(in[0]);
      T *to = static_cast<T *>(outputs[0]);
      IndexReader index{in[1], wide};
      FirstBad bad;
      parallelFor(threads, lines.count, grainFor(lines.indexSize * sizeof(T)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t line = begin; line < end; ++line) {
                      int64_t dataStart = lines.dataStart(line), indexStart = lines.indexStart(line);
                      for (int64_t i = 0; i < lines.indexSize; ++i) {
                        int64_t position = indexStart + i * lines.indexStride;
                        int64_t place = resolveIndex(index[position], lines.dataSize, position, bad);
                        if (place >= 0)
                          to[position] = from[dataStart + place * lines.dataStride];
                      }
                    }
                  });
      if (bad.any())
        failIndex(what, index, bad, lines.dataSize);
    });
  });
}

std::unique_ptr<LibraryKernel> makeGatherND(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &data = call.inputs[0], &indices = call.inputs[1];
  expectSameType(call, data, call.outputs[0]);
  IndexTuples tuples = readTuples(call, data, indices, call.outputs[0], intAttr(call, "batch_dims", 0));
  size_t run = tuples.sliceElements * dtypeSize(data.type);
  return closure([=, what = describe(call)](Inputs in, Outputs outputs, void *) {
    const char *from = static_cast<const char *>(in[0]);
    char *to = static_cast<char *>(outputs[0]);
    IndexReader index{in[1], tuples.wide};
    FirstBad bad;
    parallelFor(threads, tuples.count, grainFor(2 * run), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t slot = tuples.slot(index, i, bad);
        if (slot >= 0)
          std::memcpy(to + i * run, from + slot * run, run);
      }
    });
    if (bad.any())
      failIndex(what, index, bad, tuples.sizes[bad.position() % tuples.depth]);
  });
}

} // namespace

KEDGE_REGISTER(Gather) {
  registerKernel("onnx.Gather", makeGather);
  registerKernel("onnx.GatherElements", makeGatherElements);
  registerKernel("onnx.GatherND", makeGatherND);
}

} // namespace kedge::rt::cpu
