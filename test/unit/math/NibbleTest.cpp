// Moments in 4 bits, as kernels code them, beside torchao's rule: the nearest number below, or the next one
// where the residual is half of what is between them.
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "test/unit/math/UpdateFunction.h"
#include <array>
#include <cmath>

using namespace kedge;

namespace {
constexpr size_t kNibbleBlock = train::kBlock4bit, kNibbleHalf = kNibbleBlock / 2;
using Map = std::array<float, 16>;

Map signedMap() {
  Map map{};
  size_t at = 0;
  for (const auto &[decade, cells] : {std::pair(0.01, 1), std::pair(0.1, 2), std::pair(1.0, 4)})
    for (int cell = 0; cell < cells; ++cell) {
      const double middle = decade * (0.1 + 0.9 * (cell + 0.5) / cells);
      map[at++] = static_cast<float>(middle);
      map[at++] = static_cast<float>(-middle);
    }
  map[at++] = 0;
  map[at] = 1;
  std::sort(map.begin(), map.end());
  return map;
}

Map unsignedMap() {
  Map map{};
  for (int code = 0; code < 16; ++code)
    map[code] = static_cast<float>(code + 1) / 16;
  return map;
}

uint8_t nibbleOf(const Map &map, float share) {
  int code = 0;
  while (code < 15 && share >= map[code + 1])
    ++code;
  return code < 15 && share - map[code] >= (map[code + 1] - map[code]) * 0.5f ? code + 1 : code;
}

std::vector<uint8_t> nibblesOf(const Map &map, const std::vector<float> &values) {
  std::vector<uint8_t> codes;
  for (float value : values)
    codes.push_back(nibbleOf(map, value));
  return codes;
}

/// Two a byte, the first half of a block in the high bits.
std::vector<uint8_t> packedNibbles(const std::vector<uint8_t> &codes) {
  std::vector<uint8_t> bytes(codes.size() / 2);
  for (size_t at = 0; at < bytes.size(); ++at) {
    const size_t first = at / kNibbleHalf * kNibbleBlock + at % kNibbleHalf;
    bytes[at] = static_cast<uint8_t>(codes[first] << 4 | codes[first + kNibbleHalf]);
  }
  return bytes;
}

/// One update of `blocks` blocks with a magnitude of 1.
class NibbleUpdate {
public:
  explicit NibbleUpdate(size_t blocks)
      : blocks(blocks),
        function("train.adam4bit", "decay = false, decoupled = true, lr_scale = 1.0 : f64",
                 types("{0}, {1}, {2}, {1}, {2}, {0}, {4}, {4}, {4}, {4}, {4}, {4}, {4}, {4}"),
                 types("{0}, {3}, {2}, {3}, {2}")) {}

  /// Moments are of g alone.
  std::map<int, float> scalars{{6, 1.f},  {7, 0.f},  {8, 1.f},  {9, 1.f},
                               {10, 0.f}, {11, 1.f}, {12, 1.f}, {13, 1.f}};
  std::vector<float> gradient, param;
  std::vector<uint8_t> bytes1, bytes2, codes1, codes2;

  void run() {
    function.give(0, std::vector<float>(blocks * kNibbleBlock));
    function.give(1, bytes1);
    function.give(2, std::vector<float>(blocks, 1.f));
    function.give(3, bytes2);
    function.give(4, std::vector<float>(blocks, 1.f));
    function.give(5, gradient);
    for (auto [k, value] : scalars)
      function.give(k, std::vector<float>{value});
    function.run();
    function.take(0, param);
    function.take(1, codes1);
    function.take(3, codes2);
  }

private:
  std::string types(const char *list) const {
    return fmt::format(fmt::runtime(list), fmt::format("tensor<{}x2x64xf32>", blocks),
                       fmt::format("tensor<{}x64xui8>", blocks), fmt::format("tensor<{}xf32>", blocks),
                       fmt::format("tensor<{}x2x64xui8>", blocks), "tensor<f32>");
  }

  size_t blocks;
  test::UpdateFunction function;
};
} // namespace

TEST(Nibbles, NumbersHaveTheirCodes) {
  std::vector<float> values;
  for (float value : signedMap())
    for (float near : {std::nextafter(value, -2.f), value, std::nextafter(value, 2.f)})
      values.push_back(std::clamp(near, -1.f, 1.f));
  for (size_t code = 0; code < 15; ++code) {
    const float middle = (signedMap()[code] + signedMap()[code + 1]) / 2;
    for (float near : {std::nextafter(middle, -2.f), middle, std::nextafter(middle, 2.f)})
      values.push_back(near);
  }
  for (int step = 0; values.size() < 30 * (kNibbleBlock - 1); ++step)
    values.push_back(-1 + static_cast<float>(step) * (2.f / 3700));
  NibbleUpdate update(30);
  for (size_t at = 0; at < values.size(); ++at) {
    if (at % (kNibbleBlock - 1) == 0)
      update.gradient.push_back(1); // the block's largest
    update.gradient.push_back(std::clamp(values[at], -1.f, 1.f));
  }
  update.bytes1.assign(30 * kNibbleHalf, 0x77); // zeros, from which the mean moves to g without rounding
  update.bytes2.resize(30 * kNibbleHalf);
  update.run();
  std::vector<float> squares = update.gradient;
  for (float &value : squares)
    value *= value;
  EXPECT_EQ(update.codes1, nibblesOf(signedMap(), update.gradient));
  EXPECT_EQ(update.codes2, nibblesOf(unsignedMap(), squares));
}

TEST(Nibbles, CodesHaveTheirNumbers) {
  std::vector<uint8_t> codes1, codes2;
  for (size_t k = 0; k < kNibbleBlock; ++k) {
    codes1.push_back(k % 16);
    codes2.push_back(k / 8);
  }
  NibbleUpdate update(1);
  update.bytes1 = packedNibbles(codes1);
  update.bytes2 = packedNibbles(codes2);
  update.gradient.resize(kNibbleBlock);
  update.scalars[9] = update.scalars[11] = 0; // the moments stay
  update.scalars[10] = 1;
  update.run();
  for (size_t k = 0; k < kNibbleBlock; ++k)
    EXPECT_FLOAT_EQ(update.param[k], -signedMap()[codes1[k]] / (std::sqrt(unsignedMap()[codes2[k]]) + 1))
        << k;
}
