// Companded moments as kernels code them, against their definition.
#include "runtime/format/Float16.h"
#include "test/unit/math/UpdateFunction.h"
#include <cmath>

using namespace kedge;

namespace {
constexpr size_t kGroup = 32;

/// One step of AdamW with rate 1 on `groups` groups: both moments are decayed by the betas, 1 - betas are
/// shares of the gradient.
class Update {
public:
  explicit Update(size_t groups)
      : groups(groups),
        function("train.companded",
                 "rule = \"adamw\", nesterov = false, decay = false, lr_scale = 1.0 : f64, "
                 "operandSegmentSizes = array<i32: 1, 1, 4, 8>",
                 types("{0}, {0}, {1}, {3}, {2}, {3}") + scalarTypes(), types("{0}, {1}, {3}, {2}, {3}")) {}

  std::vector<float> gradient, param;
  std::vector<int8_t> codes;
  std::vector<uint8_t> counts;
  std::vector<rt::Float16> scale1, scale2;

  /// `share`: of the gradient in the new moments, the rest is of the old ones.
  void run(float share) {
    function.give(0, std::vector<float>(groups * kGroup));
    function.give(1, gradient);
    function.give(2, codes);
    function.give(3, scale1);
    function.give(4, counts);
    function.give(5, scale2);
    // gradient_scale, decay_scale, step_size, one_minus_beta1, beta2, one_minus_beta2, bias_correction2_sqrt,
    // eps
    const float scalars[] = {1, 0, 1, share, 1 - share, share, 1, 1};
    for (int k = 0; k < 8; ++k)
      function.give(6 + k, std::vector<float>{scalars[k]});
    function.run();
    function.take(0, param);
    function.take(1, codes);
    function.take(2, scale1);
    function.take(3, counts);
    function.take(4, scale2);
  }

private:
  /// {0}: the parameter; {1}, {2}: codes of the first and second moment; {3}: their scales.
  std::string types(const char *list) const {
    return fmt::format(fmt::runtime(list), fmt::format("tensor<{}x32xf32>", groups),
                       fmt::format("tensor<{}x32xi8>", groups), fmt::format("tensor<{}x32xui8>", groups),
                       fmt::format("tensor<{}xf16>", groups));
  }
  static std::string scalarTypes() {
    std::string list;
    for (int k = 0; k < 8; ++k)
      list += ", tensor<f32>";
    return list;
  }

  size_t groups;
  test::UpdateFunction function;
};

float scaleOf(rt::Float16 half) { return half / 1024; }
} // namespace

TEST(Companded, CodesAreThoseOfTheirDefinition) {
  constexpr size_t groups = 40; // largest magnitudes from 2^-30, below fp16's range, to 2^9, above 64
  Update update(groups);
  for (size_t k = 0; k < groups * kGroup; ++k)
    update.gradient.push_back(
        std::ldexp(std::sin(static_cast<float>(k * k)), static_cast<int>(k / kGroup) - 30));
  update.codes.resize(groups * kGroup);
  update.counts.resize(groups * kGroup);
  update.scale1.resize(groups);
  update.scale2.resize(groups);
  update.run(1);
  for (size_t group = 0; group < groups; ++group) {
    float largest = 0;
    for (size_t k = 0; k < kGroup; ++k)
      largest = std::max(largest, std::abs(update.gradient[group * kGroup + k]));
    const float inMemory = std::min(std::max(largest * 1024, 0x1p-14f), 65504.f);
    EXPECT_NEAR(scaleOf(update.scale1[group]) * 1024, inMemory, inMemory * 0x1p-11) << group;
    EXPECT_NEAR(scaleOf(update.scale2[group]) * 1024, inMemory, inMemory * 0x1p-11 * 1.01) << group;
    for (size_t k = group * kGroup; k < (group + 1) * kGroup; ++k) {
      const double x = update.gradient[k] / double(scaleOf(update.scale1[group]));
      EXPECT_NEAR(update.codes[k], std::clamp(127 * 2 * x / (1 + std::abs(x)), -127., 127.), 0.501) << k;
      const double root = std::abs(update.gradient[k]) / double(scaleOf(update.scale2[group]));
      EXPECT_NEAR(update.counts[k], std::min(255 * root, 255.), 0.51) << k;
    }
  }
}

TEST(Companded, CodesHaveTheirValuesAndStay) {
  constexpr size_t groups = 8;
  Update update(groups);
  for (size_t k = 0; k < groups * kGroup; ++k) {
    update.codes.push_back(static_cast<int8_t>(k % kGroup == 0 ? 127 : static_cast<int>(k) - 128));
    update.counts.push_back(static_cast<uint8_t>(k % kGroup == 0 ? 255 : k));
  }
  update.codes[128 - 128] = 127; // there is no code -128
  update.scale1.assign(groups, rt::Float16(1024 * 0.75f));
  update.scale2.assign(groups, rt::Float16(1024 * 0.5f));
  update.gradient.resize(groups * kGroup);
  const auto codes = update.codes;
  const auto counts = update.counts;
  update.run(0);
  for (size_t k = 0; k < groups * kGroup; ++k) {
    const float y = codes[k] / 127.f, moment = 0.75f * y / (2 - std::abs(y)), root = counts[k] / 255.f * 0.5f;
    EXPECT_NEAR(update.param[k], -moment / (root + 1), 1e-6) << k;
  }
  EXPECT_EQ(update.codes, codes);
  EXPECT_EQ(update.counts, counts);
  for (const rt::Float16 scale : update.scale1)
    EXPECT_EQ(scaleOf(scale), 0.75f);
}
