// From a run-time element type to a C++ type, and the type to compute in.
#pragma once
#include "runtime/core/Float16.h"
#include "runtime/cpu/Call.h"
#include <type_traits>

namespace kedge::rt::cpu {

template <typename T> struct Type { using type = T; };

/// What sums of T are kept in: float for float and the 16-bit types, double, 64-bit integers that wrap.
template <typename T> struct ComputeOf { using type = uint64_t; };
template <> struct ComputeOf<float> { using type = float; };
template <> struct ComputeOf<BFloat16> : ComputeOf<float> {};
template <> struct ComputeOf<Float16> : ComputeOf<float> {};
template <> struct ComputeOf<double> { using type = double; };
template <typename T> using Compute = typename ComputeOf<T>::type;

/// f(Type<T>) for the four float types; an error for others.
template <typename F> auto dispatchFloat(const LibraryCall &call, DType type, F &&f) {
  switch (type) {
  case DType::F32:
    return f(Type<float>{});
  case DType::F64:
    return f(Type<double>{});
  case DType::F16:
    return f(Type<Float16>{});
  case DType::BF16:
    return f(Type<BFloat16>{});
  default:
    failCall(call, "element type {} is not available here, expected f32, f64, f16 or bf16", dtypeName(type));
  }
}

/// f(Type<T>) for all numbers; an error for bool.
template <typename F> auto dispatchNumber(const LibraryCall &call, DType type, F &&f) {
  switch (type) {
  case DType::I8:
    return f(Type<int8_t>{});
  case DType::I16:
    return f(Type<int16_t>{});
  case DType::I32:
    return f(Type<int32_t>{});
  case DType::I64:
    return f(Type<int64_t>{});
  case DType::U8:
    return f(Type<uint8_t>{});
  case DType::U16:
    return f(Type<uint16_t>{});
  case DType::U32:
    return f(Type<uint32_t>{});
  case DType::U64:
    return f(Type<uint64_t>{});
  default:
    return dispatchFloat(call, type, f);
  }
}

/// f(Type<U>) for the unsigned type of the element's size: for what only moves bytes.
template <typename F> auto dispatchSize(DType type, F &&f) {
  switch (dtypeSize(type)) {
  case 1:
    return f(Type<uint8_t>{});
  case 2:
    return f(Type<uint16_t>{});
  case 4:
    return f(Type<uint32_t>{});
  default:
    return f(Type<uint64_t>{});
  }
}

/// f(Type<I>) for i32 or i64 indices.
template <typename F> auto dispatchIndex(const LibraryCall &call, DType type, F &&f) {
  if (type == DType::I32)
    return f(Type<int32_t>{});
  if (type == DType::I64)
    return f(Type<int64_t>{});
  failCall(call, "indices are {}, expected i32 or i64", dtypeName(type));
}

} // namespace kedge::rt::cpu
