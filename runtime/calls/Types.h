// Maps a run-time element type to a C++ type, and to the type to compute in.
#pragma once
#include "runtime/calls/Call.h"
#include "runtime/format/Float16.h"
#include <type_traits>

namespace kedge::rt::calls {

template <typename T> struct TypeTag {
  using type = T;
};

/// The type for sums of T: float for float and 16-bit floats, double, or 64-bit integers that wrap around.
template <typename T> struct ComputeOf {
  using type = uint64_t;
};
template <> struct ComputeOf<float> {
  using type = float;
};
template <> struct ComputeOf<BFloat16> : ComputeOf<float> {};
template <> struct ComputeOf<Float16> : ComputeOf<float> {};
template <> struct ComputeOf<double> {
  using type = double;
};
template <typename T> using Compute = typename ComputeOf<T>::type;

/// Calls f(TypeTag<T>) for the four float types; an error for others.
template <typename F> auto dispatchFloat(const LibraryCall &call, DType type, F &&f) {
  switch (type) {
  case DType::F32:
    return f(TypeTag<float>{});
  case DType::F64:
    return f(TypeTag<double>{});
  case DType::F16:
    return f(TypeTag<Float16>{});
  case DType::BF16:
    return f(TypeTag<BFloat16>{});
  default:
    failCall(call, "element type {} is not available here, expected f32, f64, f16 or bf16", dtypeName(type));
  }
}

/// Calls f(TypeTag<T>) for all numeric types; an error for bool.
template <typename F> auto dispatchNumber(const LibraryCall &call, DType type, F &&f) {
  switch (type) {
  case DType::I8:
    return f(TypeTag<int8_t>{});
  case DType::I16:
    return f(TypeTag<int16_t>{});
  case DType::I32:
    return f(TypeTag<int32_t>{});
  case DType::I64:
    return f(TypeTag<int64_t>{});
  case DType::U8:
    return f(TypeTag<uint8_t>{});
  case DType::U16:
    return f(TypeTag<uint16_t>{});
  case DType::U32:
    return f(TypeTag<uint32_t>{});
  case DType::U64:
    return f(TypeTag<uint64_t>{});
  default:
    return dispatchFloat(call, type, f);
  }
}

/// Calls f(TypeTag<U>) for the unsigned type of the same size, for code that only moves bytes.
template <typename F> auto dispatchSize(DType type, F &&f) {
  switch (dtypeSize(type)) {
  case 1:
    return f(TypeTag<uint8_t>{});
  case 2:
    return f(TypeTag<uint16_t>{});
  case 4:
    return f(TypeTag<uint32_t>{});
  default:
    return f(TypeTag<uint64_t>{});
  }
}

/// Calls f(TypeTag<I>) for indices of i32 or i64.
template <typename F> auto dispatchIndex(const LibraryCall &call, DType type, F &&f) {
  if (type == DType::I32)
    return f(TypeTag<int32_t>{});
  if (type == DType::I64)
    return f(TypeTag<int64_t>{});
  failCall(call, "indices are {}, expected i32 or i64", dtypeName(type));
}

} // namespace kedge::rt::calls
