#include "runtime/format/Convert.h"
#include "runtime/format/Float16.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <type_traits>

namespace kedge::rt {
namespace {

template <typename T> struct Tag {
  using type = T;
};

template <typename F> auto dispatch(DType type, F &&body) {
  switch (type) {
  case DType::F32:
    return body(Tag<float>{});
  case DType::F64:
    return body(Tag<double>{});
  case DType::F16:
    return body(Tag<Float16>{});
  case DType::BF16:
    return body(Tag<BFloat16>{});
  case DType::I8:
    return body(Tag<int8_t>{});
  case DType::I16:
    return body(Tag<int16_t>{});
  case DType::I32:
    return body(Tag<int32_t>{});
  case DType::I64:
    return body(Tag<int64_t>{});
  case DType::U8:
    return body(Tag<uint8_t>{});
  case DType::U16:
    return body(Tag<uint16_t>{});
  case DType::U32:
    return body(Tag<uint32_t>{});
  case DType::U64:
    return body(Tag<uint64_t>{});
  case DType::Bool:
    return body(Tag<bool>{});
  case DType::F8E4M3:
  case DType::F8E5M2: // products read them, and nothing else
    break;
  }
  fail("unknown element type {}", static_cast<int>(type));
}

template <typename T> constexpr bool isHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <typename T> auto widened(T value) {
  if constexpr (isHalf<T>)
    return static_cast<float>(value);
  else
    return value;
}

template <typename To, typename Wide> To narrowed(Wide value) {
  if constexpr (isHalf<To>)
    return To(static_cast<float>(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != Wide(0);
  else
    return static_cast<To>(value);
}

template <typename To, typename From>
void convertLoop(void *destination, int64_t destinationStride, const void *source, int64_t sourceStride,
                 int64_t count) {
  auto *to = static_cast<char *>(destination);
  const auto *from = static_cast<const char *>(source);
  // Files align nothing, so elements go through memcpy.
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sourceStride * static_cast<int64_t>(sizeof(From)), sizeof(From));
    const To result = narrowed<To>(widened(value));
    std::memcpy(to + i * destinationStride * static_cast<int64_t>(sizeof(To)), &result, sizeof(To));
  }
}

} // namespace

double loadAsDouble(DType type, const void *data, int64_t index) {
  double value = 0;
  convert(&value, DType::F64, 1,
          static_cast<const char *>(data) + index * static_cast<int64_t>(dtypeSize(type)), type, 1, 1);
  return value;
}

int64_t loadAsInt(DType type, const void *data, int64_t index) {
  int64_t value = 0;
  convert(&value, DType::I64, 1,
          static_cast<const char *>(data) + index * static_cast<int64_t>(dtypeSize(type)), type, 1, 1);
  return value;
}

void storeDouble(DType type, void *data, int64_t index, double value) {
  convert(static_cast<char *>(data) + index * static_cast<int64_t>(dtypeSize(type)), type, 1, &value,
          DType::F64, 1, 1);
}

void convert(void *destination, DType destinationType, int64_t destinationStride, const void *source,
             DType sourceType, int64_t sourceStride, int64_t count) {
  if (destinationType == sourceType && destinationStride == 1 && sourceStride == 1) {
    if (count > 0)
      std::memcpy(destination, source, static_cast<size_t>(count) * dtypeSize(sourceType));
    return;
  }
  dispatch(destinationType, [&](auto to) {
    dispatch(sourceType, [&](auto from) {
      convertLoop<typename decltype(to)::type, typename decltype(from)::type>(destination, destinationStride,
                                                                              source, sourceStride, count);
    });
  });
}

std::optional<uint64_t> checkedBytes(const TensorDesc &desc) {
  uint64_t bytes = dtypeSize(desc.type);
  for (int64_t extent : desc.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return std::nullopt;
  return bytes;
}

std::vector<int> inversePerm(const std::vector<int> &perm) {
  std::vector<int> inverse(perm.size());
  for (size_t k = 0; k < perm.size(); ++k)
    inverse[static_cast<size_t>(perm[k])] = static_cast<int>(k);
  return inverse;
}

void transposeRange(void *destination, DType destinationType, const std::vector<int64_t> &shape,
                    const void *source, DType sourceType, const std::vector<int> &perm, int64_t begin,
                    int64_t count) {
  const size_t rank = shape.size();
  const auto sourceSize = static_cast<int64_t>(dtypeSize(sourceType));
  const auto *from = static_cast<const char *>(source);
  if (perm.empty() || rank == 0) {
    convert(destination, destinationType, 1, from + begin * sourceSize, sourceType, 1, count);
    return;
  }
  if (perm.size() != rank)
    fail("the program is damaged: a permutation of {} axes for {} dimensions", perm.size(), rank);
  const std::vector<int> back = inversePerm(perm);
  std::vector<int64_t> strides(rank, 1); // in the source, of the result's axes
  int64_t step = 1;
  for (size_t axis = rank; axis-- > 0;) {
    const size_t k = static_cast<size_t>(back[axis]);
    strides[k] = step;
    step *= shape[k];
  }
  auto *to = static_cast<char *>(destination);
  const int64_t inner = shape[rank - 1];
  for (const int64_t end = begin + count; begin < end;) {
    int64_t rest = begin / inner, position = begin % inner * strides[rank - 1];
    const int64_t length = std::min(end - begin, inner - begin % inner);
    for (size_t axis = rank - 1; axis-- > 0;) {
      position += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    convert(to, destinationType, 1, from + position * sourceSize, sourceType, strides[rank - 1], length);
    to += length * static_cast<int64_t>(dtypeSize(destinationType));
    begin += length;
  }
}

void transposeRows(void *destination, DType destinationType, const std::vector<int64_t> &shape,
                   const void *source, DType sourceType, const std::vector<int> &perm, int64_t begin,
                   int64_t end) {
  int64_t row = 1;
  for (size_t axis = 1; axis < shape.size(); ++axis)
    row *= shape[axis];
  transposeRange(destination, destinationType, shape, source, sourceType, perm, begin * row,
                 (end - begin) * row);
}

void transpose(void *destination, DType destinationType, const std::vector<int64_t> &shape,
               const void *source, DType sourceType, const std::vector<int> &perm) {
  if (perm.empty()) {
    convert(destination, destinationType, 1, source, sourceType, 1, TensorDesc{sourceType, shape}.elements());
    return;
  }
  transposeRows(destination, destinationType, shape, source, sourceType, perm, 0,
                shape.empty() ? 1 : shape[0]);
}

} // namespace kedge::rt
