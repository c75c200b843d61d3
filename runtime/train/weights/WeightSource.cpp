#include "runtime/train/weights/WeightSource.h"
#include "runtime/train/weights/EncodedWeights.h"

namespace kedge::rt {

bool WeightSource::fillCodes(const State &codes, const State &whole, char *destination) {
  const std::optional<TensorSource> values = valuesOf(whole);
  if (values)
    encodeWeight(codes, *values, destination);
  return values.has_value();
}

} // namespace kedge::rt
