#include "test/unit/gpu/Numbers.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace mlir;

namespace kedge::test {
namespace {

size_t elementBytes(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

uint64_t bitsAt(const char *data, size_t bytes, size_t at) {
  uint64_t bits = 0;
  std::memcpy(&bits, data + at * bytes, bytes);
  return bits;
}

double numberAt(FloatType type, const char *data, size_t at) {
  llvm::APInt bits(type.getWidth(), bitsAt(data, elementBytes(type), at));
  llvm::APFloat value(type.getFloatSemantics(), bits);
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

uint64_t bitsOf(FloatType type, float number) {
  llvm::APFloat value(number);
  bool inexact;
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.bitcastToAPInt().getZExtValue();
}

bool agree(double expected, double found, double tolerance) {
  if (std::isnan(expected) || std::isnan(found))
    return std::isnan(expected) && std::isnan(found);
  if (std::isinf(expected) || std::isinf(found))
    return expected == found;
  return std::abs(expected - found) <= tolerance;
}

} // namespace

size_t bytesOf(RankedTensorType type) { return type.getNumElements() * elementBytes(type.getElementType()); }

void fill(RankedTensorType type, char *data, std::mt19937 &random, float low, float high) {
  std::uniform_real_distribution<float> floats(low, high);
  size_t bytes = elementBytes(type.getElementType());
  auto number = dyn_cast<FloatType>(type.getElementType());
  for (int64_t at = 0; at < type.getNumElements(); ++at) {
    uint64_t bits =
        number ? bitsOf(number, floats(random)) : random() % (type.getElementType().isInteger(1) ? 2 : 8);
    std::memcpy(data + at * bytes, &bits, bytes);
  }
}

std::string difference(RankedTensorType type, const char *expected, const char *found, double relative,
                       double absolute) {
  auto number = dyn_cast<FloatType>(type.getElementType());
  size_t bytes = elementBytes(type.getElementType());
  double largest = 0;
  if (number)
    for (int64_t at = 0; at < type.getNumElements(); ++at)
      if (double value = std::abs(numberAt(number, expected, at)); std::isfinite(value))
        largest = std::max(largest, value);
  std::string first;
  int64_t count = 0;
  for (int64_t at = 0; at < type.getNumElements(); ++at) {
    uint64_t a = bitsAt(expected, bytes, at), b = bitsAt(found, bytes, at);
    if (a == b)
      continue;
    double x = number ? numberAt(number, expected, at) : double(a),
           y = number ? numberAt(number, found, at) : double(b);
    if (number && agree(x, y, relative * std::abs(x) + absolute * largest))
      continue;
    if (count++ == 0)
      first = fmt::format("element {}: expected {}, found {}", at, x, y);
  }
  return count ? fmt::format("{} of {} elements differ; {}", count, type.getNumElements(), first) : "";
}

} // namespace kedge::test
