// Clusters that also add rows up (sched.sum), beside the same arithmetic in plain loops.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "test/unit/gpu/GuardedMemory.h"
#include "test/unit/gpu/KernelPair.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace kedge::test {
namespace {

/// y = (x - sum of its row / 64) * g, stored, and for each block of rows and column the sums of y, as stored,
/// and of x * r.
struct Shape {
  int64_t batch, rows, columns, block; ///< x is [batch, rows, columns], g a number a column, r a number a row
  bool isWide;                         ///< f32; else bf16

  int64_t points() const { return batch * rows * columns; }
  int64_t sums() const { return batch * rows / block * columns; }
};

std::string textOf(const Shape &s) {
  const std::string type = s.isWide ? "f32" : "bf16";
  auto widened = [&](const char *to, const char *from) {
    return s.isWide ? fmt::format("%{} = arith.addf %{}, %zero : f32\n", to, from)
                    : fmt::format("%{} = arith.extf %{} : bf16 to f32\n", to, from);
  };
  const std::string rounded =
      s.isWide ? "%y = arith.addf %p, %zero : f32\n" : "%y = arith.truncf %p : f32 to bf16\n";
  return fmt::format(R"(
#point = affine_map<(b, t, c) -> (b, t, c)>
#row = affine_map<(b, t, c) -> (b, t)>
#column = affine_map<(b, t, c) -> (c)>
#block = affine_map<(b, t, c) -> (b, t floordiv {3}, c)>
func.func @f(%x: tensor<{0}x{1}x{2}x{4}>, %g: tensor<{2}xf32>, %r: tensor<{0}x{1}xf32>) {{
  %y:3 = sched.cluster domain [{0}, {1}, {2}] reduced [2] (%x, %g, %r) maps [#point, #column, #row] -> [#point, #block, #block] {{
  ^bb0(%v: {4}, %h: f32, %q: f32):
    %zero = arith.constant 0.0 : f32
    %scale = arith.constant 0.015625 : f32
    {5}
    %s = sched.reduce add %w : f32
    %m = arith.mulf %s, %scale : f32
    %d = arith.subf %w, %m : f32
    %p = arith.mulf %d, %h : f32
    {6}
    {7}
    %i = sched.sum %z : f32
    %k = arith.mulf %w, %q : f32
    %j = sched.sum %k : f32
    sched.yield %y, %i, %j : {4}, f32, f32
  }} : (tensor<{0}x{1}x{2}x{4}>, tensor<{2}xf32>, tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}x{2}x{4}>, tensor<{0}x{8}x{2}xf32>, tensor<{0}x{8}x{2}xf32>)
  return
}})",
                     s.batch, s.rows, s.columns, s.block, type, widened("w", "v"), rounded, widened("z", "y"),
                     s.rows / s.block);
}

uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBf16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

/// Numbers in memory that no kernel may leave.
class Tensor {
public:
  Tensor(int64_t count, bool isWide)
      : memory(count * (isWide ? 4 : 2), GuardedMemory::Guard::End), isWide(isWide) {}
  char *data() { return memory.data(); }
  float at(int64_t i) {
    return isWide ? reinterpret_cast<float *>(data())[i] : fromBf16(reinterpret_cast<uint16_t *>(data())[i]);
  }
  void set(int64_t i, float value) {
    if (isWide)
      reinterpret_cast<float *>(data())[i] = value;
    else
      reinterpret_cast<uint16_t *>(data())[i] = toBf16(value);
  }

private:
  GuardedMemory memory;
  bool isWide;
};

void check(const Shape &s, bool isInPlace) {
  SCOPED_TRACE(fmt::format("{} x {} x {}, blocks of {}, {}{}", s.batch, s.rows, s.columns, s.block,
                           s.isWide ? "f32" : "bf16", isInPlace ? ", in place" : ""));
  MLIRContext context;
  context.loadDialect<mlir::gpu::GPUDialect>();
  auto module = parseClusters(context, textOf(s));
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module->getLoc());
  auto b = OpBuilder::atBlockBegin(kernels->getBody());
  auto gpuModule = mlir::gpu::GPUModuleOp::create(b, module->getLoc(), "kernels");
  lower::gpu::GpuEmitter emitter(gpuModule);
  sched::ClusterOp cluster;
  module->walk([&](sched::ClusterOp op) { cluster = op; });
  auto code = emitter.emit(cluster);
  ASSERT_TRUE(succeeded(code));
  ASSERT_EQ(code->kernels.size(), 1u);
  EXPECT_EQ(code->kernels.front().grid[0], s.batch * s.rows / s.block);
  GpuSimulator simulator(gpuModule);

  std::mt19937 random(1);
  std::uniform_real_distribution<float> numbers(-2, 2);
  Tensor x(s.points(), s.isWide), y(s.points(), s.isWide), g(s.columns, true), r(s.batch * s.rows, true),
      sums(s.sums(), true), products(s.sums(), true);
  for (int64_t i = 0; i < s.points(); ++i)
    x.set(i, numbers(random));
  for (int64_t c = 0; c < s.columns; ++c)
    g.set(c, numbers(random));
  for (int64_t t = 0; t < s.batch * s.rows; ++t)
    r.set(t, numbers(random));
  std::vector<float> before(s.points());
  for (int64_t i = 0; i < s.points(); ++i)
    before[i] = x.at(i);
  Tensor &result = isInPlace ? x : y;
  simulator.run(*code, {x.data(), g.data(), r.data(), result.data(), sums.data(), products.data()}, nullptr);

  std::vector<double> expected(s.sums()), expectedProducts(s.sums());
  for (int64_t row = 0; row < s.batch * s.rows; ++row) {
    double total = 0;
    for (int64_t c = 0; c < s.columns; ++c)
      total += before[row * s.columns + c];
    for (int64_t c = 0; c < s.columns; ++c) {
      const int64_t i = row * s.columns + c, sum = row / s.block * s.columns + c;
      ASSERT_NEAR(result.at(i), (before[i] - total / 64) * g.at(c), s.isWide ? 1e-4 : 0.2) << i;
      expected[sum] += result.at(i); // as it is stored
      expectedProducts[sum] += double(before[i]) * r.at(row);
    }
  }
  for (int64_t i = 0; i < s.sums(); ++i) {
    ASSERT_NEAR(sums.at(i), expected[i], 1e-3) << i;
    ASSERT_NEAR(products.at(i), expectedProducts[i], 1e-3) << i;
  }
}

/// Rows shorter than a warp, odd ones, ones of several warps; one team of threads in a block, and eight.
TEST(GpuBlockSums, EveryShapeOfTeams) {
  for (bool isWide : {true, false})
    for (bool isInPlace : {false, true})
      for (Shape s : {Shape{2, 32, 8, 16, isWide},
                      {1, 48, 37, 16, isWide},
                      {3, 16, 64, 16, isWide},
                      {1, 34, 100, 17, isWide},
                      {2, 32, 768, 32, isWide},
                      {1, 32, 1600, 16, isWide},
                      {1, 32, 2052, 16, isWide}})
        check(s, isInPlace);
}

} // namespace
} // namespace kedge::test
