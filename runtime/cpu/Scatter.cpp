// onnx.ScatterElements (and its old name onnx.Scatter), onnx.ScatterND.
#include "runtime/calls/IndexTuples.h"
#include "runtime/calls/LineMap.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include <cstring>

namespace kedge::rt::cpu {
namespace {

enum class Reduction { None, Add, Mul, Max, Min };

Reduction readReduction(const LibraryCall &call) {
  const char *names[] = {"none", "add", "mul", "max", "min"};
  std::string name = stringAttr(call, "reduction", "none");
  for (int i = 0; i < 5; ++i)
    if (name == names[i])
      return static_cast<Reduction>(i);
  failCall(call, "reduction '{}', expected none, add, mul, max or min", name);
}

template <typename T> void reduceInto(T &place, T update, Reduction reduction) {
  using C = Compute<T>;
  switch (reduction) {
  case Reduction::None:
    place = update;
    return;
  case Reduction::Add:
    place = static_cast<T>(static_cast<C>(place) + static_cast<C>(update));
    return;
  case Reduction::Mul:
    place = static_cast<T>(static_cast<C>(place) * static_cast<C>(update));
    return;
  case Reduction::Max:
    place = update > place || update != update ? update : place;
    return;
  case Reduction::Min:
    place = update < place || update != update ? update : place;
    return;
  }
}

void copyBytes(void *to, const void *from, size_t bytes, int threads) {
  parallelFor(threads, static_cast<int64_t>(bytes), 65536, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char *>(to) + begin, static_cast<const char *>(from) + begin, end - begin);
  });
}

/// f(TypeTag<T>) where bool counts as u8.
template <typename F> std::unique_ptr<LibraryKernel> dispatchAny(const LibraryCall &call, DType type, F &&f) {
  return type == DType::Bool ? f(TypeTag<uint8_t>{}) : dispatchNumber(call, type, f);
}

void expectScatter(const LibraryCall &call) {
  expectCounts(call, 3, 3, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectSameType(call, call.inputs[0], call.inputs[2]);
  expectShape(call, call.outputs[0], call.inputs[0].shape, "the result");
}

std::unique_ptr<LibraryKernel> makeScatterElements(const LibraryCall &call, int threads) {
  expectScatter(call);
  const TensorDesc &data = call.inputs[0], &indices = call.inputs[1];
  expectShape(call, call.inputs[2], indices.shape, "the tensor of updates");
  LineMap lines = mapLines(call, data, indices);
  Reduction reduction = readReduction(call);
  bool wide = indices.type == DType::I64;
  size_t bytes = data.bytes();
  return dispatchAny(call, data.type, [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    KernelWork work = irregularWork(static_cast<double>(indices.elements()));
    return closure(work, [=, what = describe(call)](Inputs in, Outputs out, void *) {
      copyBytes(out[0], in[0], bytes, threads);
      IndexReader index{in[1], wide};
      const T *updates = static_cast<const T *>(in[2]);
      T *y = static_cast<T *>(out[0]);
      FirstBad bad;
      parallelFor(threads, lines.count, grainFor(lines.indexSize * sizeof(T)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t line = begin; line < end; ++line) {
                      int64_t dataStart = lines.dataStart(line), indexStart = lines.indexStart(line);
                      for (int64_t i = 0; i < lines.indexSize; ++i) {
                        int64_t position = indexStart + i * lines.indexStride;
                        int64_t place = resolveIndex(index[position], lines.dataSize, position, bad);
                        if (place >= 0)
                          reduceInto(y[dataStart + place * lines.dataStride], updates[position], reduction);
                      }
                    }
                  });
      if (bad.any())
        failIndex(what, index, bad, lines.dataSize);
    });
  });
}

std::unique_ptr<LibraryKernel> makeScatterND(const LibraryCall &call, int threads) {
  expectScatter(call);
  const TensorDesc &data = call.inputs[0];
  IndexTuples tuples = readTuples(call, data, call.inputs[1], call.inputs[2], 0);
  Reduction reduction = readReduction(call);
  size_t bytes = data.bytes();
  return dispatchAny(call, data.type, [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    KernelWork work = irregularWork(static_cast<double>(call.inputs[2].elements()));
    return closure(work, [=, what = describe(call)](Inputs in, Outputs out, void *) {
      copyBytes(out[0], in[0], bytes, threads);
      IndexReader index{in[1], tuples.wide};
      FirstBad bad;
      // Updates go in order; threads share the columns of a slice.
      parallelFor(threads, tuples.sliceElements, grainFor(tuples.count * sizeof(T)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = 0; i < tuples.count; ++i) {
                      int64_t slot = tuples.slot(index, i, bad);
                      if (slot < 0)
                        continue;
                      const T *update = static_cast<const T *>(in[2]) + i * tuples.sliceElements;
                      T *place = static_cast<T *>(out[0]) + slot * tuples.sliceElements;
                      for (int64_t j = begin; j < end; ++j)
                        reduceInto(place[j], update[j], reduction);
                    }
                  });
      if (bad.any())
        failIndex(what, index, bad, tuples.sizes[bad.position() % tuples.depth]);
    });
  });
}

} // namespace

void registerScatter() {
  registerKernel("onnx.ScatterElements", makeScatterElements);
  registerKernel("onnx.Scatter", makeScatterElements);
  registerKernel("onnx.ScatterND", makeScatterND);
}

} // namespace kedge::rt::cpu
