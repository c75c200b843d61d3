// onnx.ScatterElements (and its old name onnx.Scatter), onnx.ScatterND.
#include "runtime/calls/IndexTuples.h"
#include "runtime/calls/LineMap.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include <cstring>

namespace kedge::rt::cpu {
using namespace calls;

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

template <typename T, typename U> void reduceInto(T &place, U given, Reduction reduction) {
  using C = Compute<T>;
  const T update = static_cast<T>(given);
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

/// Where updates are reduced: the result itself or, for sums and products of a 16-bit type T, places of float
/// in the workspace, which are rounded once at the end.
template <typename T, typename Place> struct Places {
  static constexpr bool kAside = !std::is_same_v<T, Place>;
  int64_t elements;
  int threads;

  size_t workspaceBytes() const { return kAside ? sizeof(Place) * static_cast<size_t>(elements) : 0; }
  Place *start(const void *data, void *result, void *workspace) const {
    if constexpr (kAside) {
      Place *places = static_cast<Place *>(workspace);
      convert(static_cast<const T *>(data), places);
      return places;
    } else {
      copyBytes(result, data, sizeof(T) * static_cast<size_t>(elements), threads);
      return static_cast<Place *>(result);
    }
  }
  void finish(const Place *places, void *result) const {
    if constexpr (kAside)
      convert(places, static_cast<T *>(result));
  }

private:
  template <typename From, typename To> void convert(const From *from, To *to) const {
    parallelFor(threads, elements, grainFor(sizeof(From)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = static_cast<To>(from[i]);
    });
  }
};

/// f(TypeTag<T>, Places<T, ...>) where bool counts as u8.
template <typename F>
std::unique_ptr<LibraryKernel> dispatchPlaces(const LibraryCall &call, Reduction reduction, int threads,
                                              F &&f) {
  const TensorDesc &data = call.inputs[0];
  auto make = [&]<typename T>(TypeTag<T> type) -> std::unique_ptr<LibraryKernel> {
    if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
      if (reduction == Reduction::Add || reduction == Reduction::Mul)
        return f(type, Places<T, float>{data.elements(), threads});
    return f(type, Places<T, T>{data.elements(), threads});
  };
  return data.type == DType::Bool ? make(TypeTag<uint8_t>{}) : dispatchNumber(call, data.type, make);
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
  return dispatchPlaces(call, reduction, threads, [&]<typename T>(TypeTag<T>, auto places) {
    return closure(places.workspaceBytes(), [=, what = describe(call)](Inputs in, Outputs out,
                                                                       void *workspace) {
      auto *y = places.start(in[0], out[0], workspace);
      IndexReader index{in[1], wide};
      const T *updates = static_cast<const T *>(in[2]);
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
      places.finish(y, out[0]);
    });
  });
}

std::unique_ptr<LibraryKernel> makeScatterND(const LibraryCall &call, int threads) {
  expectScatter(call);
  const TensorDesc &data = call.inputs[0];
  IndexTuples tuples = readTuples(call, data, call.inputs[1], call.inputs[2], 0);
  Reduction reduction = readReduction(call);
  return dispatchPlaces(call, reduction, threads, [&]<typename T>(TypeTag<T>, auto places) {
    return closure(
        places.workspaceBytes(), [=, what = describe(call)](Inputs in, Outputs out, void *workspace) {
          auto *y = places.start(in[0], out[0], workspace);
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
                          auto *place = y + slot * tuples.sliceElements;
                          for (int64_t j = begin; j < end; ++j)
                            reduceInto(place[j], update[j], reduction);
                        }
                      });
          if (bad.any())
            failIndex(what, index, bad, tuples.sizes[bad.position() % tuples.depth]);
          places.finish(y, out[0]);
        });
  });
}

} // namespace

KEDGE_REGISTER(Scatter) {
  registerKernel("onnx.ScatterElements", makeScatterElements);
  registerKernel("onnx.Scatter", makeScatterElements);
  registerKernel("onnx.ScatterND", makeScatterND);
}

} // namespace kedge::rt::cpu
