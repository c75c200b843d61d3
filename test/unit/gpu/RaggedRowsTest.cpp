// Rows of odd length in padded memory: accesses of 16 bytes whose last one ends behind the row. KernelPair
// poisons what lies there.
#include "test/unit/gpu/KernelPair.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace kedge::test {
namespace {

struct Rows {
  int64_t count, columns, pitch;
};
const Rows kRows[] = {{5, 1001, 1024}, {3, 515, 576}, {2, 4099, 4160}, {2, 40001, 40064}, {300, 513, 576}};

/// Cross-entropy and its gradient, as a head of a language model has them.
std::string loss(Rows rows, const char *type, int64_t label) {
  return fmt::format(
      R"(func.func @f(%t: tensor<{0}x{2}x{3}>, %l: tensor<{0}xi64>) {{
 %r:2 = sched.cluster domain [{0}, {1}] reduced [1] (%t, %l)
   maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>]
   -> [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>] {{
 ^bb0(%x: {3}, %given: i64):
  %offset = arith.constant {4} : i64
  %label = arith.addi %given, %offset : i64
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = {5}
  %m = sched.reduce max %v : f32
  %d = arith.subf %v, %m : f32
  %e = math.exp %d : f32
  %s = sched.reduce add %e : f32
  %c = sched.index 1
  %is = arith.cmpi eq, %c, %label : i64
  %own = arith.select %is, %v, %zero : f32
  %picked = sched.reduce add %own : f32
  %isnt = arith.cmpi ne, %label, %c : i64
  %target = arith.select %isnt, %zero, %one : f32
  %p = arith.divf %e, %s : f32
  %g = arith.subf %p, %target : f32
  %y = {6}
  sched.yield %y, %picked : {3}, f32
 }} : (tensor<{0}x{2}x{3}>, tensor<{0}xi64>) -> (tensor<{0}x{2}x{3}>, tensor<{0}xf32>)
 return
}}
)",
      rows.count, rows.columns, rows.pitch, type, label,
      std::string(type) == "f32" ? "arith.addf %x, %zero : f32"
                                 : fmt::format("arith.extf %x : {} to f32", type),
      std::string(type) == "f32" ? "arith.addf %g, %zero : f32"
                                 : fmt::format("arith.truncf %g : f32 to {}", type));
}

void check(const std::string &text, StringRef arch) {
  MLIRContext context;
  auto module = parseClusters(context, text);
  KernelPair pair(*module, arch);
  for (unsigned seed : {1, 2})
    EXPECT_EQ(pair.compare(0, seed, -5, 5), "") << arch.str() << "\n" << text;
}

// Labels of 0 to 7 and an offset: the first and the last ones of a row, ones in the last access and behind
// the row, and ones whose lower 32 bits are a column.
TEST(RaggedRows, LossAndGradient) {
  for (Rows rows : kRows)
    check(loss(rows, "bf16", rows.columns - 4), "");
  for (const char *type : {"f16", "f32"})
    check(loss(kRows[0], type, kRows[0].columns - 4), "");
  for (int64_t label : {int64_t(0), int64_t(-3), (int64_t(1) << 32) + 1})
    check(loss(kRows[0], "bf16", label), "");
}

TEST(RaggedRows, LossAndGradientAsPtx) {
  for (Rows rows : {kRows[0], kRows[3]})
    for (const char *arch : {"sm_90", "sm_80", "sm_100"})
      check(loss(rows, "bf16", rows.columns - 4), arch);
}

// Nothing is reduced: rows are walked.
TEST(RaggedRows, Elementwise) {
  for (Rows rows : kRows) {
    const std::string text = fmt::format(
        R"(func.func @f(%t: tensor<{0}x{2}xbf16>, %s: tensor<{0}xf32>) {{
 %r = sched.cluster domain [{0}, {1}] reduced [] (%t, %s)
   maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>] -> [affine_map<(r, c) -> (r, c)>] {{
 ^bb0(%x: bf16, %s0: f32):
  %v = arith.extf %x : bf16 to f32
  %p = arith.mulf %v, %s0 : f32
  %y = arith.truncf %p : f32 to bf16
  sched.yield %y : bf16
 }} : (tensor<{0}x{2}xbf16>, tensor<{0}xf32>) -> tensor<{0}x{2}xbf16>
 return
}}
)",
        rows.count, rows.columns, rows.pitch);
    for (StringRef arch : {"", "sm_90"})
      check(text, arch);
  }
}

} // namespace
} // namespace kedge::test
