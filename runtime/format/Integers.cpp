#include "runtime/format/Integers.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt {
namespace {
using nlohmann::json;

int64_t productOf(const std::vector<int64_t> &dims, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t k = begin; k < end; ++k)
    product *= dims[k];
  return product;
}

/// A state as the file has it.
struct Whole {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

Whole wholeOf(const std::string &name, const StateLookup &lookup) {
  const ExportedState state = lookup(name);
  Whole whole{state.desc.shape, std::vector<float>(static_cast<size_t>(state.desc.elements()))};
  for (size_t k = 0; k < state.perm.size(); ++k)
    whole.dims[k] = state.desc.shape[static_cast<size_t>(state.perm[k])];
  transpose(whole.values.data(), DType::F32, whole.dims, state.data, state.desc.type, state.perm);
  return whole;
}

/// Which scale holds for an element.
class Groups {
public:
  Groups(const std::vector<int64_t> &dims, int64_t axis, int64_t block) {
    if (axis < 0)
      return;
    const auto at = static_cast<size_t>(axis);
    length = dims[at];
    inner = productOf(dims, at + 1, dims.size());
    blockLength = block;
    count = block > 0 ? productOf(dims, 0, dims.size()) / block : length;
    one = false;
  }
  int64_t of(int64_t element) const {
    if (one)
      return 0;
    const int64_t along = element / inner % length;
    if (blockLength == 0)
      return along;
    const int64_t outer = element / inner / length;
    return (outer * (length / blockLength) + along / blockLength) * inner + element % inner;
  }
  int64_t count = 1;

private:
  bool one = true;
  int64_t length = 1, inner = 1, blockLength = 0;
};

/// Scale and zero point for a range; the formulas of train.range_scale.
struct Step {
  float scale = 0, zero = 0;
};

Step stepOf(float min, float max, float low, float high) {
  min = std::min(min, 0.0f);
  max = std::max(max, 0.0f);
  if (low == -high)
    return {std::max(-min, max) / high, 0};
  const float scale = (max - min) / (high - low);
  if (scale == 0)
    return {0, 0};
  return {scale, std::clamp(low - std::nearbyintf(min / scale), low, high)};
}

/// Of a weight that is 0: ONNX wants no scale of 0, and a bias beside it is in steps of it.
constexpr float kScaleOfZeros = 0x1p-16f;

/// A BatchNormalization that is multiplied into a weight; the formulas of kedge-fold-norms.
class Norm {
public:
  Norm(const json &facts, const StateLookup &lookup) : facts(facts), lookup(lookup) {
    const std::vector<float> scale = of("scale"), variance = of("variance");
    const float epsilon = facts.at("epsilon").get<float>();
    for (size_t k = 0; k < scale.size(); ++k)
      factors.push_back(scale[k] * (1.0f / std::sqrt(variance[k] + epsilon)));
  }
  std::vector<float> bias() const {
    std::vector<float> result = of("bias"), mean = of("mean");
    const auto product = facts.at("product_bias").get<std::string>();
    const std::vector<float> before =
        product.empty() ? std::vector<float>(mean.size()) : wholeOf(product, lookup).values;
    for (size_t k = 0; k < result.size(); ++k)
      result[k] += (before[k] - mean[k]) * factors[k];
    return result;
  }
  std::vector<float> factors; ///< of each output

private:
  std::vector<float> of(const char *name) const {
    return wholeOf(facts.at(name).get<std::string>(), lookup).values;
  }
  const json &facts;
  const StateLookup &lookup;
};

std::vector<uint8_t> bytesOf(const std::vector<float> &values) {
  std::vector<uint8_t> out(values.size() * sizeof(float));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

class Integers {
public:
  Integers(const json &piece, const StateLookup &lookup)
      : facts(piece.at(4)), type(piece[2].get<std::string>()), low(facts.at("low").get<float>()),
        high(facts.at("high").get<float>()), whole(wholeOf(piece[1].get<std::string>(), lookup)),
        groups(whole.dims, facts.at("axis").get<int64_t>(), facts.at("block").get<int64_t>()) {
    if (facts.contains("norm"))
      fold(Norm(facts["norm"], lookup));
    if (facts.at("max").get<std::string>().empty() || facts.contains("input"))
      ofWeight();
    else
      steps = {inputStep(facts, piece[1].get<std::string>(), low, high, lookup)};
    if (facts.contains("input"))
      makeBias(lookup);
  }

  /// Of the range that follows the batches, and what has been learned beside it.
  static Step inputStep(const json &facts, const std::string &min, float low, float high,
                        const StateLookup &lookup) {
    const float least = wholeOf(min, lookup).values.at(0),
                most = wholeOf(facts.at("max").get<std::string>(), lookup).values.at(0);
    if (least == 0 && most == 0)
      fail("--export-quantized: the range '{}' has seen nothing but zeros: train for a step first", min);
    Step step = stepOf(least, most, low, high);
    if (const auto learned = facts.at("learned").get<std::string>(); !learned.empty())
      step.scale = std::max(step.scale + wholeOf(learned, lookup).values.at(0), 1e-12f);
    return step;
  }

  std::vector<uint8_t> bytes() const {
    const auto part = facts.at("part").get<std::string>();
    if (part == "scales" || part == "bias_scales")
      return scales();
    if (part == "bias")
      return biasCodes();
    if (part == "packed")
      return packedRows();
    if (part == "packed_scales")
      return packedScales();
    std::vector<float> codes;
    if (part == "zero_points")
      for (const Step &step : steps)
        codes.push_back(step.zero);
    else
      for (size_t k = 0; k < whole.values.size(); ++k)
        codes.push_back(codeOf(k));
    return packed(codes);
  }

private:
  /// An output of factor 0 is rounded as it is while it trains, and is deployed as 0.
  void fold(const Norm &norm) {
    outputLength = whole.values.size() / norm.factors.size();
    for (size_t k = 0; k < whole.values.size(); ++k) {
      const float factor = norm.factors[k / outputLength];
      whole.values[k] *= factor == 0 ? 1 : factor;
    }
    for (const float factor : norm.factors)
      isNothing.push_back(factor == 0);
  }

  /// The steps become those of the product.
  void makeBias(const StateLookup &lookup) {
    const json &input = facts.at("input");
    const float scale = inputStep(facts, input.at("min").get<std::string>(), input.at("low").get<float>(),
                                  input.at("high").get<float>(), lookup)
                            .scale;
    for (Step &step : steps)
      step.scale = scale * (step.scale == 0 ? kScaleOfZeros : step.scale);
    biases = facts.contains("norm") ? Norm(facts["norm"], lookup).bias()
                                    : wholeOf(facts.at("of").get<std::string>(), lookup).values;
  }

  std::vector<uint8_t> biasCodes() const {
    constexpr float limit = 2147483520; // the largest float below 2 to the 31st
    std::vector<uint8_t> out(biases.size() * sizeof(int32_t));
    for (size_t k = 0; k < biases.size(); ++k) {
      const float place = std::nearbyintf(biases[k] / steps[steps.size() == 1 ? 0 : k].scale);
      const auto code = static_cast<int32_t>(std::clamp(place, -limit, limit));
      std::memcpy(out.data() + k * sizeof code, &code, sizeof code);
    }
    return out;
  }

  void ofWeight() {
    std::vector<float> min(static_cast<size_t>(groups.count), INFINITY), max(min.size(), -INFINITY);
    for (size_t k = 0; k < whole.values.size(); ++k) {
      const auto group = static_cast<size_t>(groups.of(static_cast<int64_t>(k)));
      min[group] = std::min(min[group], whole.values[k]);
      max[group] = std::max(max[group], whole.values[k]);
    }
    for (size_t group = 0; group < min.size(); ++group)
      steps.push_back(stepOf(min[group], max[group], low, high));
  }

  float codeOf(size_t element) const {
    const Step &step = steps[static_cast<size_t>(groups.of(static_cast<int64_t>(element)))];
    if (step.scale == 0)
      return 0; // so are the values
    if (!isNothing.empty() && isNothing[element / outputLength])
      return step.zero;
    return std::clamp(std::nearbyintf(whole.values[element] / step.scale) + step.zero, low, high);
  }

  /// ONNX wants no scale of 0.
  std::vector<uint8_t> scales() const {
    std::vector<float> values;
    for (const Step &step : steps)
      values.push_back(step.scale == 0 ? kScaleOfZeros : step.scale);
    return bytesOf(values);
  }

  /// For MatMulNBits: output by output, whichever way the weight lies; two codes in a byte, from 0 on.
  std::vector<uint8_t> packedRows() const {
    std::vector<uint8_t> out;
    forEachRow([&](size_t first, size_t pitch, size_t inputs) {
      for (size_t k = 0; k < inputs; k += 2) {
        const auto code = [&](size_t at) { return static_cast<int>(codeOf(first + at * pitch)) + 8; };
        out.push_back(static_cast<uint8_t>(code(k) | code(k + 1) << 4));
      }
    });
    return out;
  }

  std::vector<uint8_t> packedScales() const {
    std::vector<float> values;
    const auto block = facts.at("block").get<size_t>();
    forEachRow([&](size_t first, size_t pitch, size_t inputs) {
      for (size_t k = 0; k < inputs; k += block) {
        const float scale =
            steps[static_cast<size_t>(groups.of(static_cast<int64_t>(first + k * pitch)))].scale;
        values.push_back(scale == 0 ? 1 : scale);
      }
    });
    return bytesOf(values);
  }

  /// Calls `visit` with an output's first element, how far its inputs are apart, and how many there are.
  template <typename Visit> void forEachRow(Visit visit) const {
    const bool outFirst = facts.at("axis").get<int64_t>() == 1;
    const auto rows = static_cast<size_t>(whole.dims[0]), columns = static_cast<size_t>(whole.dims[1]);
    for (size_t output = 0; output < (outFirst ? rows : columns); ++output)
      outFirst ? visit(output * columns, size_t{1}, columns) : visit(output, columns, rows);
  }

  /// Of two codes of 4 bits in a byte, the first is in the lower half.
  std::vector<uint8_t> packed(const std::vector<float> &codes) const {
    const bool halves = type == "i4";
    std::vector<uint8_t> out(halves ? (codes.size() + 1) / 2 : codes.size(), 0);
    for (size_t k = 0; k < codes.size(); ++k) {
      const auto code = static_cast<uint8_t>(static_cast<int>(codes[k]));
      if (!halves)
        out[k] = code;
      else
        out[k / 2] = static_cast<uint8_t>(out[k / 2] | (code & 15) << (k % 2 * 4));
    }
    return out;
  }

  const json &facts;
  std::string type;
  float low, high;
  Whole whole;
  Groups groups;
  std::vector<Step> steps; ///< of each group
  std::vector<float> biases;
  std::vector<bool> isNothing; ///< outputs that a norm's scale of 0 takes away
  size_t outputLength = 1;
};

} // namespace

uint64_t sizeOfIntegers(const json &piece) {
  const auto dims = piece[3].get<std::vector<int64_t>>();
  const auto elements = static_cast<uint64_t>(productOf(dims, 0, dims.size()));
  const auto type = piece[2].get<std::string>();
  return type == "f32" || type == "i32" ? 4 * elements : type == "i4" ? (elements + 1) / 2 : elements;
}

std::vector<uint8_t> integersOf(const json &piece, const StateLookup &lookup) {
  const json &facts = piece.at(4);
  const bool isPlainBias = facts.at("part") == "bias" && !facts.contains("input");
  std::vector<uint8_t> bytes =
      isPlainBias ? bytesOf(Norm(facts.at("norm"), lookup).bias()) : Integers(piece, lookup).bytes();
  if (bytes.size() != sizeOfIntegers(piece))
    fail("export: integers of '{}' have {} bytes, the ONNX file expects {}; the program is damaged, compile "
         "it "
         "again",
         piece[1].get<std::string>(), bytes.size(), sizeOfIntegers(piece));
  return bytes;
}

} // namespace kedge::rt
