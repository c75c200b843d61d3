// Moments in 8-bit dynamic codes, as kernels code them, beside the runtime's tables, which are bitsandbytes'.
#include "lib/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/format/QuantizedFormats.h"
#include "test/support/CompiledFunction.h"
#include "test/unit/math/OpHarness.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace kedge;

namespace {
constexpr size_t kBlock = 256;

/// One update of `blocks` blocks; values in the order of the op's operands.
class Update {
public:
  explicit Update(size_t blocks) : blocks(blocks) {
    const std::string whole = fmt::format("tensor<{}x256xf32>", blocks),
                      codes = fmt::format("tensor<{}x256xui8>", blocks),
                      row = fmt::format("tensor<{}xf32>", blocks), one = "tensor<f32>";
    const std::string operands = fmt::format(
        "{0}, {1}, {2}, {1}, {2}, {0}, {3}, {3}, {3}, {3}, {3}, {3}, {3}, {3}, {3}", whole, codes, row, one);
    const std::string results = fmt::format("({0}, {1}, {2}, {1}, {2})", whole, codes, row);
    std::string names, arguments;
    llvm::SmallVector<llvm::StringRef> types;
    llvm::StringRef(operands).split(types, ", ");
    for (size_t k = 0; k < types.size(); ++k) {
      names += fmt::format("{}%a{}", k ? ", " : "", k);
      arguments += fmt::format("{}%a{}: {}", k ? ", " : "", k, types[k].str());
    }
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        fmt::format("func.func @op({}) -> {} {{ %r:5 = train.adam8bit {} {{decay = false, lr_scale = 1.0 : "
                    "f64}} : ({}) -> {}\n"
                    "return %r#0, %r#1, %r#2, %r#3, %r#4 : {} }}",
                    arguments, results, names, operands, results, results.substr(1, results.size() - 2)),
        &harness.context);
    if (!module)
      throw std::runtime_error("the update does not parse");
    function = std::make_unique<test::CompiledFunction>(
        test::CompiledFunction::isolate(*module->getOps<mlir::func::FuncOp>().begin()));
    // lr, step size, and what follows it, as scalars: g is taken as it is, moments are of g alone.
    for (auto [k, value] : {std::pair(6, 1.f),
                            {7, 0.f},
                            {8, 1.f},
                            {9, 0.f},
                            {10, 1.f},
                            {11, 0.f},
                            {12, 1.f},
                            {13, 1.f},
                            {14, 1.f}})
      scalars[k] = value;
  }

  std::map<int, float> scalars;
  std::vector<float> gradient;
  std::vector<uint8_t> codes1, codes2; // of both moments before, and after
  std::vector<float> param;

  void run() {
    floats(0, std::vector<float>(blocks * kBlock));
    bytes(1, codes1);
    floats(2, std::vector<float>(blocks, 1.f));
    bytes(3, codes2);
    floats(4, std::vector<float>(blocks, 1.f));
    floats(5, gradient);
    for (auto [k, value] : scalars)
      floats(k, {value});
    function->run();
    const auto take = [&](const char *name, auto &values) {
      const std::vector<char> found = function->output(name).bytes;
      values.resize(found.size() / sizeof(values[0]));
      std::memcpy(values.data(), found.data(), found.size());
    };
    take("0", param);
    take("1", codes1);
    take("3", codes2);
  }

private:
  template <typename T> void give(int k, const std::vector<T> &values) {
    interpret::HostTensor tensor{{}, {}};
    tensor.bytes.assign(reinterpret_cast<const char *>(values.data()),
                        reinterpret_cast<const char *>(values.data() + values.size()));
    function->setInput(std::to_string(k), tensor);
  }
  void floats(int k, const std::vector<float> &values) { give(k, values); }
  void bytes(int k, const std::vector<uint8_t> &values) { give(k, values); }

  test::OpHarness harness; // its context knows the dialects
  size_t blocks;
  std::unique_ptr<test::CompiledFunction> function;
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
