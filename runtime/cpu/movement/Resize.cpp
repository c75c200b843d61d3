// onnx.Resize and its gradient: the same weighted sums, with the tables of the map or of its transpose.
#include "runtime/calls/ResizeTables.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr size_t kMostRank = 16;

struct ResizeMap {
  std::vector<AxisTable> tables;
  Shape sizes, strides; ///< of the result; elements between neighbours of the source
  double extrapolation = 0;
};

template <typename S>
Compute<S> weightedSum(const ResizeMap &map, const int64_t *index, size_t d, const S *source) {
  using T = Compute<S>;
  const AxisTable &table = map.tables[d];
  int64_t begin = table.start[index[d]], end = table.start[index[d] + 1];
  bool last = d + 1 == map.tables.size();
  T sum = 0;
  for (int64_t k = begin; k < end; ++k) {
    const S *at = source + table.sources[k] * map.strides[d];
    sum += static_cast<T>(table.weights[k]) *
           (last ? static_cast<T>(*at) : weightedSum<S>(map, index, d + 1, at));
  }
  return sum;
}

/// f(flat place, index) for places [begin, end) of the result.
template <typename F> void forPlaces(const Shape &sizes, int64_t begin, int64_t end, F &&f) {
  for (int64_t flat = begin; flat < end; ++flat) {
    int64_t index[kMostRank], rest = flat;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d])
      index[d] = rest % sizes[d];
    f(flat, index);
  }
}

template <typename S> std::unique_ptr<LibraryKernel> weighted(ResizeMap map, int threads) {
  int64_t count = product(map.sizes);
  return closure([map = std::move(map), threads, count](Inputs in, Outputs out, void *) {
    parallelFor(threads, count, 1024, [&](int64_t begin, int64_t end) {
      forPlaces(map.sizes, begin, end, [&](int64_t flat, const int64_t *index) {
        bool outside = false;
        for (size_t d = 0; d < map.sizes.size(); ++d)
          outside |= map.tables[d].outside[index[d]] != 0;
        static_cast<S *>(out[0])[flat] =
            static_cast<S>(outside ? static_cast<Compute<S>>(map.extrapolation)
                                   : weightedSum<S>(map, index, 0, static_cast<const S *>(in[0])));
      });
    });
  });
}

/// Nearest for integers and bool: one source per element.
template <typename U> std::unique_ptr<LibraryKernel> copied(ResizeMap map, int threads) {
  int64_t count = product(map.sizes);
  return closure([map = std::move(map), threads, count](Inputs in, Outputs out, void *) {
    parallelFor(threads, count, 1024, [&](int64_t begin, int64_t end) {
      forPlaces(map.sizes, begin, end, [&](int64_t flat, const int64_t *index) {
        int64_t source = 0;
        for (size_t d = 0; d < map.sizes.size(); ++d)
          source += map.tables[d].sources[map.tables[d].start[index[d]]] * map.strides[d];
        static_cast<U *>(out[0])[flat] = static_cast<const U *>(in[0])[source];
      });
    });
  });
}

bool isFloatType(DType type) {
  return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
}

void expectPlain(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  if (call.inputs[0].shape.empty() || call.inputs[0].shape.size() > kMostRank)
    failCall(call, "rank 1 to {} is expected", kMostRank);
}

std::unique_ptr<LibraryKernel> makeResize(const LibraryCall &call, int threads) {
  expectPlain(call);
  const TensorDesc &x = call.inputs[0], &y = call.outputs[0];
  ResizeMap map{readResize(call, x, y), y.shape, rowMajorStrides(x.shape),
                floatAttr(call, "extrapolation_value", 0)};
  if (isFloatType(x.type))
    return dispatchFloat(call, x.type,
                         [&]<typename S>(TypeTag<S>) { return weighted<S>(std::move(map), threads); });
  for (const AxisTable &table : map.tables)
    if (static_cast<int64_t>(table.sources.size()) != table.size())
      failCall(call, "of this type only mode nearest inside the operand is available");
  return dispatchSize(x.type, [&]<typename U>(TypeTag<U>) { return copied<U>(std::move(map), threads); });
}

std::unique_ptr<LibraryKernel> makeResizeGrad(const LibraryCall &call, int threads) {
  expectPlain(call);
  const TensorDesc &dy = call.inputs[0], &dx = call.outputs[0];
  ResizeMap map{{}, dx.shape, rowMajorStrides(dy.shape), 0};
  std::vector<AxisTable> forward = readResize(call, dx, dy);
  for (size_t d = 0; d < forward.size(); ++d)
    map.tables.push_back(transpose(forward[d], dx.shape[d]));
  return dispatchFloat(call, dx.type,
                       [&]<typename S>(TypeTag<S>) { return weighted<S>(std::move(map), threads); });
}

} // namespace

KEDGE_REGISTER(Resize) {
  registerKernel("onnx.Resize", makeResize);
  registerKernel("train.resize_grad", makeResizeGrad);
}

} // namespace kedge::rt::cpu
