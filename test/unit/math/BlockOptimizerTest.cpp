// Moments in 8-bit dynamic codes, as kernels code them, beside the runtime's tables, which are bitsandbytes'.
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "runtime/format/QuantizedFormats.h"
#include "test/unit/math/UpdateFunction.h"
#include <cmath>
#include <map>

using namespace kedge;

namespace {
constexpr size_t kBlock = 256;

/// One update of `blocks` blocks; values in the order of the op's operands.
class Update {
public:
  explicit Update(size_t blocks)
      : blocks(blocks),
        function("train.adam8bit", "decay = false, lr_scale = 1.0 : f64",
                 types("{0}, {1}, {2}, {1}, {2}, {0}, {3}, {3}, {3}, {3}, {3}, {3}, {3}, {3}, {3}"),
                 types("{0}, {1}, {2}, {1}, {2}")) {}

  /// lr, step size, and what follows it: g is taken as it is, moments are of g alone.
  std::map<int, float> scalars{{6, 1.f},  {7, 0.f},  {8, 1.f},  {9, 0.f}, {10, 1.f},
                               {11, 0.f}, {12, 1.f}, {13, 1.f}, {14, 1.f}};
  std::vector<float> gradient;
  std::vector<uint8_t> codes1, codes2; // of both moments before, and after
  std::vector<float> param;

  void run() {
    function.give(0, std::vector<float>(blocks * kBlock));
    function.give(1, codes1);
    function.give(2, std::vector<float>(blocks, 1.f));
    function.give(3, codes2);
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
  /// {0}: the parameter; {1}: codes; {2}: magnitudes of blocks; {3}: a scalar.
  std::string types(const char *list) const {
    return fmt::format(fmt::runtime(list), fmt::format("tensor<{}x256xf32>", blocks),
                       fmt::format("tensor<{}x256xui8>", blocks), fmt::format("tensor<{}xf32>", blocks),
                       "tensor<f32>");
  }

  size_t blocks;
  test::UpdateFunction function;
};

std::vector<uint8_t> reference(bool isSigned, const std::vector<float> &values) {
  std::vector<uint8_t> codes(values.size());
  for (size_t at = 0; at < values.size(); at += kBlock)
    rt::encodeDynamic(isSigned, std::span(values).subspan(at, kBlock), codes.data() + at);
  return codes;
}
} // namespace

TEST(BlockOptimizer, AllStepsHaveTheirCodes) {
  constexpr int steps = 65536, each = kBlock - 1;
  Update update((steps + each - 1) / each);
  for (int step = 0; step < steps; ++step) {
    if (step % each == 0)
      update.gradient.push_back(1); // the block's largest
    update.gradient.push_back(-1 + static_cast<float>(step) * (2.0f / 65535));
  }
  update.gradient.resize((steps + each - 1) / each * kBlock);
  update.codes1.resize(update.gradient.size());
  update.codes2.resize(update.gradient.size());
  std::vector<float> squares = update.gradient;
  for (float &value : squares)
    value *= value;
  update.run();
  EXPECT_EQ(update.codes1, reference(true, update.gradient));
  EXPECT_EQ(update.codes2, reference(false, squares));
}

TEST(BlockOptimizer, AllCodesHaveTheirValues) {
  Update update(2);
  for (size_t k = 0; k < 2 * kBlock; ++k) {
    update.codes1.push_back(k < kBlock ? static_cast<uint8_t>(k) : 255);
    update.codes2.push_back(k < kBlock ? 0 : static_cast<uint8_t>(k));
  }
  update.gradient.resize(2 * kBlock);
  // The parameter is -m1 / (sqrt(m2) + 1) where both moments stay what they were.
  update.scalars[9] = update.scalars[11] = 1;
  update.scalars[10] = update.scalars[12] = 0;
  update.run();
  for (size_t k = 0; k < kBlock; ++k) {
    EXPECT_FLOAT_EQ(update.param[k], -rt::dynamicMap(true)[k]) << k;
    EXPECT_FLOAT_EQ(update.param[kBlock + k], -1 / (std::sqrt(rt::dynamicMap(false)[k]) + 1)) << k;
  }
}
