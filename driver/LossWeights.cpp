#include "driver/LossWeights.h"
#include "lib/Support/Error.h"
#include "runtime/format/Convert.h"
#include "runtime/format/Npy.h"
#include "runtime/io/Error.h"
#include <cmath>
#include <fmt/format.h>

namespace kedge::driver {

static rt::Npy read(const char *option, const std::string &file) {
  try {
    return rt::Npy(file);
  } catch (const rt::RuntimeError &error) {
    fail("{} {}: {}", option, file, error.what());
  }
}

std::string lossWeights(const char *option, const std::string &file) {
  if (file.empty())
    return "";
  const rt::Npy npy = read(option, file);
  if (!rt::isFloat(npy.type) || npy.shape.size() > 1 || (npy.shape.size() == 1 && npy.shape[0] == 0))
    fail("{} {}: holds {}{}, expected floats in one dimension", option, file, rt::dtypeName(npy.type),
         rt::shapeText(npy.shape));
  const int64_t count = npy.shape.empty() ? 1 : npy.shape[0];
  std::string text;
  for (int64_t k = 0; k < count; ++k) {
    const auto number = static_cast<float>(rt::loadAsDouble(npy.type, npy.data, k));
    if (!std::isfinite(number) || number < 0)
      fail("{} {}: its number {} is {}, expected 0 or more", option, file, k, number);
    text += fmt::format("{}{}", k == 0 ? "" : "/", number);
  }
  return text;
}

} // namespace kedge::driver
