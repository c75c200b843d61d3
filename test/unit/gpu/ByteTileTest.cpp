// Casts to 8-bit floats that give a matrix and its transpose: tiles of 4 x 4 patches.
#include "test/unit/gpu/KernelPair.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace kedge::test {
namespace {

/// A cast of batch x rows x columns with a scale for all and one for each row, to a matrix and its transpose.
std::string casts(int64_t batch, int64_t rows, int64_t columns, const char *type) {
  return fmt::format(
      R"(func.func @f(%t: tensor<{0}x{1}x{2}xbf16>, %s: tensor<f32>, %w: tensor<{1}xf32>) {{
 %r:2 = sched.cluster domain [{0}, {1}, {2}] reduced [] (%t, %s, %w)
   maps [affine_map<(n, r, c) -> (n, r, c)>, affine_map<(n, r, c) -> ()>, affine_map<(n, r, c) -> (r)>]
   -> [affine_map<(n, r, c) -> (n, r, c)>, affine_map<(n, r, c) -> (n, c, r)>] {{
 ^bb0(%x: bf16, %scale: f32, %weight: f32):
  %v = arith.extf %x : bf16 to f32
  %p = arith.mulf %v, %scale : f32
  %q = arith.mulf %p, %weight : f32
  %y = arith.truncf %q : f32 to {3}
  %z = arith.truncf %p : f32 to {3}
  sched.yield %y, %z : {3}, {3}
 }} : (tensor<{0}x{1}x{2}xbf16>, tensor<f32>, tensor<{1}xf32>) -> (tensor<{0}x{1}x{2}x{3}>, tensor<{0}x{2}x{1}x{3}>)
 return
}}
)",
      batch, rows, columns, type);
}

void check(const std::string &text, StringRef arch) {
  MLIRContext context;
  auto module = parseClusters(context, text);
  KernelPair pair(*module, arch);
  for (unsigned seed : {1, 2})
    EXPECT_EQ(pair.compare(0, seed, -3, 3), "") << arch.str() << "\n" << text;
}

// Whole tiles, tiles that a matrix ends in along one dim or both, and sizes that no patch or run divides.
TEST(ByteTiles, EqualTheCpu) {
  for (auto [batch, rows, columns] : {std::array{1, 64, 64},
                                      {2, 128, 192},
                                      {1, 16, 8},
                                      {3, 80, 68},
                                      {1, 144, 100},
                                      {1, 40, 36},
                                      {1, 48, 35}})
    for (const char *type : {"f8E4M3FN", "f8E5M2"})
      for (StringRef arch : {"", "sm_90", "sm_80"})
        check(casts(batch, rows, columns, type), arch);
}

// A barrier stands between the words that threads write and those that they read.
TEST(ByteTiles, EachBarrierIsNeeded) {
  MLIRContext context;
  auto module = parseClusters(context, casts(1, 64, 64, "f8E4M3FN"));
  KernelPair pair(*module, "sm_90");
  const Removals removals = pair.removals(0);
  EXPECT_EQ(removals.tried, 1);
  EXPECT_TRUE(removals.unnoticed.empty());
}

} // namespace
} // namespace kedge::test
