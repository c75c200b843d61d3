// onnx.QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: scales of a tensor, an axis or blocks of it.
#include "runtime/cpu/Quantize.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/format/Convert.h"
#include <cmath>

namespace kedge::rt::cpu {
namespace {

using Pointer = std::unique_ptr<LibraryKernel>;

/// Which scale an element takes.
struct ScaleMap {
  Shape scaleStrides; ///< a dimension of x; 0 where the scale does not vary
  Shape sizes;
  int64_t axis = 0, block = 1;

  int64_t operator()(int64_t flat) const {
    int64_t index = 0;
    for (size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) {
      int64_t place = flat % sizes[d];
      index += (static_cast<int64_t>(d) == axis ? place / block : place) * scaleStrides[d];
    }
    return index;
  }
};

ScaleMap readScale(const LibraryCall &call, const TensorDesc &x, const TensorDesc &scale) {
  ScaleMap map{Shape(x.shape.size(), 0), x.shape, 0, 1};
  if (scale.elements() == 1)
    return map;
  map.axis = normalAxis(call, intAttr(call, "axis", 1), x.shape.size());
  if (scale.shape.size() == 1) {
    expectShape(call, scale, {x.shape[map.axis]}, "the scale");
    map.scaleStrides[map.axis] = 1;
    return map;
  }
  map.block = std::max<int64_t>(1, intAttr(call, "block_size", 0));
  Shape expected = x.shape;
  expected[map.axis] = (expected[map.axis] + map.block - 1) / map.block;
  expectShape(call, scale, expected, "the scale");
  map.scaleStrides = rowMajorStrides(expected);
  return map;
}

double zeroPoint(DType type, const void *zeros, int64_t index) {
  return zeros ? loadAsDouble(type, zeros, index) : 0;
}

Pointer makeQuantize(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 3, 1, 1);
  const TensorDesc &x = call.inputs[0], &scale = call.inputs[1], &y = call.outputs[0];
  ScaleMap map = readScale(call, x, scale);
  int zero = inputIndex(call, 2);
  IntegerRange range = integerRange(call, y.type);
  return closure(irregularWork(static_cast<double>(x.elements())), [=, count = x.elements(), xType = x.type, sType = scale.type,
                  yType = y.type](Inputs in, Outputs out, void *) {
    parallelFor(threads, count, 2048, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t s = map(i);
        float quotient = static_cast<float>(loadAsDouble(xType, in[0], i)) /
                         static_cast<float>(loadAsDouble(sType, in[1], s));
        double value = std::nearbyint(quotient) + zeroPoint(yType, zero < 0 ? nullptr : in[zero], s);
        storeDouble(yType, out[0], i, range.clamp(value));
      }
    });
  });
}

Pointer makeDequantize(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 3, 1, 1);
  const TensorDesc &x = call.inputs[0], &scale = call.inputs[1], &y = call.outputs[0];
  ScaleMap map = readScale(call, x, scale);
  int zero = inputIndex(call, 2);
  return closure(irregularWork(static_cast<double>(x.elements())), [=, count = x.elements(), xType = x.type, sType = scale.type,
                  yType = y.type](Inputs in, Outputs out, void *) {
    parallelFor(threads, count, 2048, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t s = map(i);
        double value = loadAsDouble(xType, in[0], i) - zeroPoint(xType, zero < 0 ? nullptr : in[zero], s);
        storeDouble(yType, out[0], i,
                    static_cast<float>(value) * static_cast<float>(loadAsDouble(sType, in[1], s)));
      }
    });
  });
}

Pointer makeDynamicQuantize(const LibraryCall &call, int) {
  expectCounts(call, 1, 1, 3, 3);
  if (call.inputs[0].type != DType::F32 || call.outputs[0].type != DType::U8)
    failCall(call, "expected f32 to u8");
  return closure(irregularWork(2.0 * static_cast<double>(call.inputs[0].elements())), [count = call.inputs[0].elements()](Inputs in, Outputs out, void *) {
    const float *x = static_cast<const float *>(in[0]);
    float low = 0, high = 0;
    for (int64_t i = 0; i < count; ++i)
      low = std::min(low, x[i]), high = std::max(high, x[i]);
    float scale = (high - low) / 255;
    float zero = scale == 0 ? 0 : std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f);
    *static_cast<float *>(out[1]) = scale;
    *static_cast<uint8_t *>(out[2]) = static_cast<uint8_t>(zero);
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint8_t *>(out[0])[i] = static_cast<uint8_t>(
          scale == 0 ? 0 : std::clamp(std::nearbyint(x[i] / scale) + zero, 0.0f, 255.0f));
  });
}

} // namespace

IntegerRange integerRange(const LibraryCall &call, DType type) {
  switch (type) {
  case DType::U8:
    return {0, 255};
  case DType::I8:
    return {-128, 127};
  case DType::U16:
    return {0, 65535};
  case DType::I16:
    return {-32768, 32767};
  default:
    failCall(call, "a quantised {} is not available", dtypeName(type));
  }
}

void registerQuantize() {
  registerKernel("onnx.QuantizeLinear", makeQuantize);
  registerKernel("onnx.DequantizeLinear", makeDequantize);
  registerKernel("onnx.DynamicQuantizeLinear", makeDynamicQuantize);
}

} // namespace kedge::rt::cpu
