// Random tensors of any element type, and how far two are apart.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include <random>
#include <string>

namespace kedge::test {

size_t bytesOf(mlir::RankedTensorType type);
/// Floats uniform in [low, high); integers in [0, 8); bools.
void fill(mlir::RankedTensorType type, char *data, std::mt19937 &random, float low, float high);
/// "" when all elements agree: integers exactly, floats within `relative` of the expected number plus
/// `absolute` of the largest expected one, NaN and infinities as themselves. Else the first that do not and
/// how many.
std::string difference(mlir::RankedTensorType type, const char *expected, const char *found, double relative,
                       double absolute);

} // namespace kedge::test
