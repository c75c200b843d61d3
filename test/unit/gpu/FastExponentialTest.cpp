// exp, tanh and erf of all 16-bit floats by the machine's approximations: what rounding to 16 bits leaves of
// their error.
#include "test/unit/gpu/KernelPair.h"
#include "llvm/ADT/APFloat.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace kedge::test {
namespace {

constexpr int64_t kAll = 1 << 16;

struct Function {
  const char *name;
  double (*exact)(double);
};

float valueOf(const llvm::fltSemantics &type, uint16_t bits) {
  llvm::APFloat value(type, llvm::APInt(16, bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToFloat();
}

uint16_t rounded(const llvm::fltSemantics &type, double number) {
  llvm::APFloat value(number);
  bool inexact;
  value.convert(type, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

/// Places between two numbers of one sign.
int distance(uint16_t a, uint16_t b) { return std::abs(int(a) - int(b)); }

/// The function of every float of the type, in the order of their bits.
std::vector<uint16_t> onSimulator(const char *function, const char *type) {
  std::string text = fmt::format("func.func @f(%t: tensor<{0}x{2}>) {{\n %r = sched.cluster domain [{0}] "
                                 "reduced [] (%t) maps [affine_map<(i) -> (i)>] -> "
                                 "[affine_map<(i) -> (i)>] {{\n^bb0(%x: {2}):\n %v = arith.extf %x : {2} to "
                                 "f32\n %w = math.{1} %v fastmath<afn> : f32\n"
                                 " %y = arith.truncf %w : f32 to {2}\n sched.yield %y : {2}\n }} : "
                                 "(tensor<{0}x{2}>) -> tensor<{0}x{2}>\n return\n}}\n",
                                 kAll, function, type);
  MLIRContext context;
  auto module = parseClusters(context, text);
  context.loadDialect<mlir::gpu::GPUDialect>();
  OwningOpRef<ModuleOp> holder = ModuleOp::create(module->getLoc());
  auto b = OpBuilder::atBlockBegin(holder->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(b, module->getLoc(), "kernels");
  lower::gpu::GpuEmitter emitter(kernels);
  FailureOr<lower::gpu::LaunchCode> code = failure();
  module->walk([&](sched::ClusterOp cluster) { code = emitter.emit(cluster); });
  if (failed(code))
    return {};
  std::vector<uint16_t> inputs(kAll), outputs(kAll);
  for (int64_t bits = 0; bits < kAll; ++bits)
    inputs[static_cast<size_t>(bits)] = static_cast<uint16_t>(bits);
  char *tensors[] = {reinterpret_cast<char *>(inputs.data()), reinterpret_cast<char *>(outputs.data())};
  GpuSimulator(kernels).run(*code, tensors, nullptr);
  return outputs;
}

void check(const Function &function, const char *name, const llvm::fltSemantics &type) {
  SCOPED_TRACE(fmt::format("{} of {}", function.name, name));
  std::vector<uint16_t> found = onSimulator(function.name, name);
  ASSERT_EQ(found.size(), size_t(kAll));
  int64_t others = 0;
  for (int64_t bits = 0; bits < kAll; ++bits) {
    const float x = valueOf(type, static_cast<uint16_t>(bits));
    const float y = valueOf(type, found[static_cast<size_t>(bits)]);
    const double exact = function.exact(x);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(y)) << x;
      continue;
    }
    if (std::abs(exact) < 0x1p-126 && std::string(function.name) == "exp") {
      EXPECT_LE(std::abs(y), 0x1p-126f) << x; // flushed, or rounded up to the smallest normal number
      continue;
    }
    const int apart = distance(rounded(type, exact), found[static_cast<size_t>(bits)]);
    EXPECT_LE(apart, 1) << fmt::format("{}: {} for {}", x, y, exact);
    others += apart != 0;
  }
  // Only where the exact value lies next to the middle of two neighbours.
  EXPECT_LE(others, kAll / 200);
}

TEST(FastExponentials, RoundedAsTheExactOnes) {
  for (Function function : {Function{"exp", std::exp}, {"tanh", std::tanh}, {"erf", std::erf}}) {
    check(function, "bf16", llvm::APFloat::BFloat());
    check(function, "f16", llvm::APFloat::IEEEhalf());
  }
}

} // namespace
} // namespace kedge::test
