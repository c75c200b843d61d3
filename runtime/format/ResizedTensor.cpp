#include "runtime/format/ResizedTensor.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt {
namespace {

/// One block of slices: of `inner` elements each.
void fillMeans(const char *block, DType type, int64_t before, int64_t inner, char *mean) {
  std::vector<double> sums(static_cast<size_t>(inner));
  for (int64_t slice = 0; slice < before; ++slice)
    for (int64_t i = 0; i < inner; ++i)
      sums[static_cast<size_t>(i)] += loadAsDouble(type, block, slice * inner + i);
  for (int64_t i = 0; i < inner; ++i)
    storeDouble(type, mean, i, sums[static_cast<size_t>(i)] / static_cast<double>(before));
}

} // namespace

std::vector<char> resizedTensor(const char *data, const TensorDesc &desc, const Resized &resized) {
  int64_t outer = 1, inner = 1;
  for (size_t axis = 0; axis < desc.shape.size(); ++axis)
    (axis < resized.axis ? outer : inner) *= axis == resized.axis ? 1 : desc.shape[axis];
  const int64_t after = desc.shape.at(resized.axis), kept = std::min(after, resized.before);
  if (resized.before <= 0)
    fail("a tensor of shape {} cannot begin as one without elements", shapeText(desc.shape));
  const size_t slice = static_cast<size_t>(inner) * dtypeSize(desc.type);
  std::vector<char> bytes(desc.bytes());
  std::vector<char> mean(slice);
  for (int64_t o = 0; o < outer; ++o) {
    const char *from = data + static_cast<size_t>(o * resized.before) * slice;
    char *to = bytes.data() + static_cast<size_t>(o * after) * slice;
    std::memcpy(to, from, static_cast<size_t>(kept) * slice);
    if (kept < after)
      fillMeans(from, desc.type, resized.before, inner, mean.data());
    for (int64_t row = kept; row < after; ++row)
      std::memcpy(to + static_cast<size_t>(row) * slice, mean.data(), slice);
  }
  return bytes;
}

} // namespace kedge::rt
