// Sums of exp(x - max) beside their maximum: rows that no thread's registers hold.
#include "lib/Support/Error.h"
#include "test/unit/gpu/KernelPair.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace kedge::test {
namespace {

constexpr const char *kExponentials = "%m = sched.reduce max %x : f32\n %d = arith.subf %x, %m : f32\n"
                                      "%e = math.exp %d : f32\n %s = sched.reduce add %e : f32\n";

/// Both emitters on a cluster over rows and columns; gives the GPU's launch.
lower::gpu::LaunchCode check(int64_t rows, int64_t columns, int reduced, const std::string &outputs,
                             const std::string &maps, const std::string &types, const std::string &body) {
  std::string input = fmt::format("tensor<{}x{}xf32>", rows, columns);
  std::string text = fmt::format(
      "func.func @f(%t: {0}) {{\n %r:{1} = sched.cluster domain [{2}, {3}] reduced [{4}] (%t) maps "
      "[affine_map<(r, c) -> (r, c)>] -> [{5}] {{\n^bb0(%v: f32):\n{6}\n }} : ({0}) -> ({7})\n return\n}}\n",
      input, 1 + std::count(types.begin(), types.end(), ','), rows, columns, reduced, maps, body, outputs);
  MLIRContext context;
  auto module = parseClusters(context, text);
  KernelPair pair(*module);
  EXPECT_EQ(pair.compare(0, 1, -9, 9), "") << text;
  return pair.code(0);
}

lower::gpu::LaunchCode softmax(int64_t rows, int64_t columns, int reduced) {
  return check(
      rows, columns, reduced, fmt::format("tensor<{}x{}xf32>", rows, columns), "affine_map<(r, c) -> (r, c)>",
      "f32",
      fmt::format("%x = arith.addf %v, %v : f32\n {}%y = arith.divf %e, %s : f32\n sched.yield %y : f32",
                  kExponentials));
}

TEST(OnlineSum, OneKernelReadsRowsTwice) {
  for (int64_t columns : {40000, 50260})
    EXPECT_EQ(softmax(2, columns, 1).kernels.size(), 1u);
}

// Parts of rows are reduced by blocks of their own, then joined: the pair is one stage.
TEST(OnlineSum, PartsOfRowsAreJoined) {
  for (int64_t columns : {40001, 300000})
    EXPECT_EQ(softmax(2, columns, 1).kernels.size(), 3u);
}

TEST(OnlineSum, Columns) {
  for (auto [rows, columns] : {std::pair(5001, 3), {9000, 40}})
    softmax(rows, columns, 0);
}

// Only the sum and what follows from it leaves: the maximum is no output of the cluster.
TEST(OnlineSum, LogarithmOfRows) {
  check(3, 40003, 1, "tensor<3xf32>, tensor<3xf32>", "affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r)>",
        "f32, f32",
        fmt::format("%x = arith.negf %v : f32\n {}%l = math.log %s : f32\n %y = arith.addf %m, %l : f32\n"
                    "sched.yield %y, %s : f32, f32",
                    kExponentials));
}

/// Rows: only -inf; a NaN; an infinite logit; -inf up to a last number; -inf here and there.
constexpr const char *kSpecial = R"(
  %r = sched.index 0
  %c = sched.index 1
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %five = arith.constant 5 : i64
  %last = arith.constant {} : i64
  %low = arith.constant 0xFF800000 : f32
  %high = arith.constant 0x7F800000 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %isFirst = arith.cmpi eq, %r, %zero : i64
  %a = arith.select %isFirst, %low, %v : f32
  %isOdd = arith.remsi %c, %five : i64
  %hole = arith.cmpi ne, %isOdd, %two : i64
  %h = arith.select %hole, %low, %a : f32
  %isLast = arith.cmpi eq, %c, %last : i64
  %isThree = arith.cmpi eq, %r, %three : i64
  %only = arith.select %isLast, %v, %low : f32
  %k = arith.select %isThree, %only, %h : f32
  %isOne = arith.cmpi eq, %r, %one : i64
  %atNan = arith.andi %isOne, %isLast : i1
  %n = arith.select %atNan, %nan, %k : f32
  %isTwo = arith.cmpi eq, %r, %two : i64
  %atHigh = arith.andi %isTwo, %isLast : i1
  %x = arith.select %atHigh, %high, %n : f32
)";

TEST(OnlineSum, InfinitiesAndNaN) {
  for (int64_t columns : {40000, 40001}) {
    std::string special = fmt::format(fmt::runtime(kSpecial), columns - 3);
    check(5, columns, 1, fmt::format("tensor<5x{}xf32>, tensor<5xf32>, tensor<5xf32>", columns),
          "affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r)>",
          "f32, f32, f32",
          special + kExponentials + "%y = arith.divf %e, %s : f32\n sched.yield %y, %m, %s : f32, f32, f32");
  }
}

// A sum of something else than the maximum's own exponentials keeps its pass.
TEST(OnlineSum, OtherSumsKeepTheirPass) {
  check(2, 40000, 1, "tensor<2xf32>, tensor<2xf32>", "affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r)>",
        "f32, f32",
        fmt::format("%x = arith.mulf %v, %v : f32\n {}%o = arith.subf %v, %m : f32\n %p = math.exp %o : f32\n"
                    "%q = sched.reduce add %p : f32\n sched.yield %q, %s : f32, f32",
                    kExponentials));
}

} // namespace
} // namespace kedge::test
