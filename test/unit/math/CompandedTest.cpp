// Companded moments as kernels code them, against their definition.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/format/Float16.h"
#include "test/support/CompiledFunction.h"
#include "test/unit/math/OpHarness.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace kedge;

namespace {
constexpr size_t kGroup = 32;

/// One step of AdamW with rate 1 on `groups` groups: both moments are decayed by the betas, 1 - betas are
/// shares of the gradient.
class Update {
public:
  explicit Update(size_t groups) : groups(groups) {
    const std::string whole = fmt::format("tensor<{}x32xf32>", groups),
                      codes = fmt::format("tensor<{}x32xi8>", groups),
                      counts = fmt::format("tensor<{}x32xui8>", groups),
                      scale = fmt::format("tensor<{}xf16>", groups);
    const std::string results = fmt::format("{0}, {1}, {3}, {2}, {3}", whole, codes, counts, scale);
    std::string operands = fmt::format("{0}, {0}, {1}, {3}, {2}, {3}", whole, codes, counts, scale),
                arguments, names;
    for (int k = 0; k < 8; ++k)
      operands += ", tensor<f32>";
    llvm::SmallVector<llvm::StringRef> types;
    llvm::StringRef(operands).split(types, ", ");
    for (size_t k = 0; k < types.size(); ++k) {
      arguments += fmt::format("{}%a{}: {}", k ? ", " : "", k, types[k].str());
      names += fmt::format("{}%a{}", k ? ", " : "", k);
    }
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        fmt::format("func.func @op({}) -> ({}) {{ %r:5 = train.companded {} {{rule = \"adamw\", nesterov = "
                    "false, decay = false, "
                    "lr_scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 4, 8>}} : ({}) -> ({})\n"
                    "return %r#0, %r#1, %r#2, %r#3, %r#4 : {} }}",
                    arguments, results, names, operands, results, results),
        &harness.context);
    if (!module)
      throw std::runtime_error("the update does not parse");
    function = std::make_unique<test::CompiledFunction>(
        test::CompiledFunction::isolate(*module->getOps<mlir::func::FuncOp>().begin()));
  }

  std::vector<float> gradient, param;
  std::vector<int8_t> codes;
  std::vector<uint8_t> counts;
  std::vector<rt::Float16> scale1, scale2;

  /// `share`: of the gradient in the new moments, the rest is of the old ones.
  void run(float share) {
    give(0, std::vector<float>(groups * kGroup));
    give(1, gradient);
    give(2, codes);
    give(3, scale1);
    give(4, counts);
    give(5, scale2);
    // gradient_scale, decay_scale, step_size, one_minus_beta1, beta2, one_minus_beta2, bias_correction2_sqrt,
    // eps
    const float scalars[] = {1, 0, 1, share, 1 - share, share, 1, 1};
    for (int k = 0; k < 8; ++k)
      give(6 + k, std::vector<float>{scalars[k]});
    function->run();
    take("0", param);
    take("1", codes);
    take("2", scale1);
    take("3", counts);
    take("4", scale2);
  }

private:
  template <typename T> void give(int k, const std::vector<T> &values) {
    interpret::HostTensor tensor{{}, {}};
    tensor.bytes.assign(reinterpret_cast<const char *>(values.data()),
                        reinterpret_cast<const char *>(values.data() + values.size()));
    function->setInput(std::to_string(k), tensor);
  }
  template <typename T> void take(const char *name, std::vector<T> &values) {
    const std::vector<char> found = function->output(name).bytes;
    values.resize(found.size() / sizeof(T));
    std::memcpy(values.data(), found.data(), found.size());
  }

  test::OpHarness harness; // its context knows the dialects
  size_t groups;
  std::unique_ptr<test::CompiledFunction> function;
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
