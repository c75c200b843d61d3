// Conversions of elements and transpositions, between files and the arena.
#pragma once
#include "runtime/format/Tensor.h"
#include <cstring>
#include <optional>

namespace kedge::rt {

inline bool isFloat(DType type) {
  return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
}

/// Element `index` of `data`. 64-bit integers above 2^53 lose bits.
double loadAsDouble(DType type, const void *data, int64_t index);
int64_t loadAsInt(DType type, const void *data, int64_t index);
void storeDouble(DType type, void *data, int64_t index, double value);

/// destination[i * destinationStride] = source[i * sourceStride] for i < count; strides in
/// elements. Float to integer truncates towards zero; conversion to Bool means "is not zero".
void convert(void *destination, DType destinationType, int64_t destinationStride, const void *source,
             DType sourceType, int64_t sourceStride, int64_t count);

/// Elements [begin, begin + count) of transpose(source, perm) in row-major order, written from `destination`
/// on. `shape` is that of the result. An empty perm is the identity. source has a shape s with s[perm[k]] =
/// shape[k].
void transposeRange(void *destination, DType destinationType, const std::vector<int64_t> &shape,
                    const void *source, DType sourceType, const std::vector<int> &perm, int64_t begin,
                    int64_t count);

/// The same for rows [begin, end), written from `destination` on.
void transposeRows(void *destination, DType destinationType, const std::vector<int64_t> &shape,
                   const void *source, DType sourceType, const std::vector<int> &perm, int64_t begin,
                   int64_t end);

/// The same for the whole tensor. Rank 0 counts as one row.
void transpose(void *destination, DType destinationType, const std::vector<int64_t> &shape,
               const void *source, DType sourceType, const std::vector<int> &perm);

/// desc.bytes(); nothing if a dimension is negative or the product overflows. For shapes that come from
/// files.
std::optional<uint64_t> checkedBytes(const TensorDesc &desc);

std::vector<int> inversePerm(const std::vector<int> &perm);

} // namespace kedge::rt
