// Clusters of every shape that the plans tell apart, at sizes that do not fit.
#include "lib/Support/Error.h"
#include "test/unit/gpu/KernelPair.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace kedge::test {
namespace {

struct Case {
  std::string inputs, outputs; ///< types, comma-separated
  std::string domain, reduced, inputMaps, outputMaps;
  std::string arguments, body, yield; ///< of the block; the yield without types
  std::string yieldTypes;
};

std::string textOf(const Case &c) {
  std::string operands, signature;
  int count = 0;
  for (size_t at = 0, next; at < c.inputs.size(); at = next) {
    next = c.inputs.find(" ", at);
    std::string type = c.inputs.substr(at, next == std::string::npos ? next : next - at);
    next = next == std::string::npos ? c.inputs.size() : next + 1;
    operands += fmt::format("{}%t{}", count ? ", " : "", count);
    signature += fmt::format("{}%t{}: {}", count ? ", " : "", count, type);
    ++count;
  }
  std::string types = c.inputs, results = c.outputs;
  for (std::string *list : {&types, &results})
    for (size_t at; (at = list->find(' ')) != std::string::npos;)
      list->replace(at, 1, ",");
  bool several = results.find(',') != std::string::npos;
  return fmt::format(
      "func.func @f({0}) {{\n  {1} = sched.cluster domain [{2}] reduced [{3}] ({4}) maps [{5}] -> [{6}] {{\n"
      "^bb0({7}):\n{8}\n sched.yield {9} : {10}\n }} : ({11}) -> ({12})\n  return\n}}\n",
      signature, several ? "%r:2" : "%r", c.domain, c.reduced, operands, c.inputMaps, c.outputMaps,
      c.arguments, c.body, c.yield, c.yieldTypes, types, results);
}

/// Compares one case on four sets of numbers; gives the launch for who looks at it.
lower::gpu::LaunchCode check(const std::string &text, float low = -2, float high = 2) {
  MLIRContext context;
  auto module = parseClusters(context, text);
  KernelPair pair(*module);
  for (unsigned seed = 1; seed <= 2; ++seed)
    EXPECT_EQ(pair.compare(0, seed, low, high), "") << text;
  return pair.code(0);
}

const char *kSame = "affine_map<(r, c) -> (r, c)>", *kRow = "affine_map<(r, c) -> (r)>",
           *kColumn = "affine_map<(r, c) -> (c)>";

Case overTwo(int64_t rows, int64_t columns, const std::string &reduced) {
  Case c;
  c.inputs = c.outputs = fmt::format("tensor<{}x{}xf32>", rows, columns);
  c.domain = fmt::format("{}, {}", rows, columns);
  c.reduced = reduced;
  c.inputMaps = c.outputMaps = kSame;
  c.arguments = "%x: f32";
  c.yieldTypes = "f32";
  return c;
}

TEST(GpuCluster, Elementwise) {
  for (auto [rows, columns] : {std::pair(1, 1), {3, 5}, {7, 64}, {13, 129}, {3, 1029}, {33, 1028}}) {
    Case c = overTwo(rows, columns, "");
    c.inputs += fmt::format(" tensor<{}xf32> tensor<{}xf32>", rows, columns);
    c.inputMaps = fmt::format("{}, {}, {}", kSame, kRow, kColumn);
    c.arguments = "%x: f32, %a: f32, %b: f32";
    c.body = "%p = arith.mulf %x, %a : f32\n %q = arith.addf %p, %b : f32\n %y = math.tanh %q : f32";
    c.yield = "%y";
    check(textOf(c));
  }
}

TEST(GpuCluster, TransposedInput) {
  for (auto [rows, columns] : {std::pair(5, 3), {32, 32}, {65, 31}, {70, 132}}) {
    Case c = overTwo(rows, columns, "");
    c.inputs = fmt::format("tensor<{0}x{1}xf32> tensor<{1}x{0}xf32>", rows, columns);
    c.inputMaps = fmt::format("{}, affine_map<(r, c) -> (c, r)>", kSame);
    c.arguments = "%x: f32, %t: f32";
    c.body = "%y = arith.subf %x, %t : f32";
    c.yield = "%y";
    check(textOf(c));
  }
}

/// A matrix as it lies and transposed, of other types, beside an input that is turned around, too.
TEST(GpuCluster, TransposedOutput) {
  for (auto [rows, columns] : {std::pair(5, 3), {32, 32}, {65, 31}, {70, 132}}) {
    Case c = overTwo(rows, columns, "");
    c.inputs = fmt::format("tensor<{0}x{1}xf32> tensor<{1}x{0}xf32>", rows, columns);
    c.outputs = fmt::format("tensor<{0}x{1}xf32> tensor<{1}x{0}xbf16>", rows, columns);
    c.inputMaps = c.outputMaps = fmt::format("{}, affine_map<(r, c) -> (c, r)>", kSame);
    c.arguments = "%x: f32, %t: f32";
    c.body = "%y = arith.subf %x, %t : f32\n %n = arith.truncf %y : f32 to bf16";
    c.yield = "%y, %n";
    c.yieldTypes = "f32, bf16";
    EXPECT_EQ(check(textOf(c)).kernels.size(), 1u);
  }
}

/// exp(x - max) / sum along the reduced dim.
Case softmax(int64_t rows, int64_t columns, const std::string &reduced) {
  Case c = overTwo(rows, columns, reduced);
  c.body = "%m = sched.reduce max %x : f32\n %d = arith.subf %x, %m : f32\n %e = math.exp %d : f32\n"
           "%s = sched.reduce add %e : f32\n %y = arith.divf %e, %s : f32";
  c.yield = "%y";
  return c;
}

TEST(GpuCluster, SoftmaxOfRows) {
  for (auto [rows, columns] :
       {std::pair(1, 1), {9, 3}, {5, 33}, {3, 64}, {17, 100}, {4, 768}, {3, 2049}, {2, 5000}, {1, 30001}})
    check(textOf(softmax(rows, columns, "1")));
}

TEST(GpuCluster, SoftmaxOfColumns) {
  for (auto [rows, columns] : {std::pair(3, 9), {33, 5}, {64, 40}, {1000, 12}, {7, 200}})
    check(textOf(softmax(rows, columns, "0")));
}

TEST(GpuCluster, StagesReduceOverBlocks) {
  Case c = softmax(2, 300000, "1");
  auto code = check(textOf(c));
  EXPECT_GT(code.kernels.size(), 2u);
  EXPECT_GT(code.workspaceBytes, 0);
}

TEST(GpuCluster, SumsOfColumns) {
  for (auto [rows, columns] : {std::pair(1, 7), {100, 3}, {4099, 65}, {2048, 260}}) {
    Case c = overTwo(rows, columns, "0");
    c.outputs = fmt::format("tensor<{}xf32>", columns);
    c.outputMaps = kColumn;
    c.body = "%y = sched.reduce add %x : f32";
    c.yield = "%y";
    auto code = check(textOf(c));
    EXPECT_EQ(code.kernels.size(), rows > 2000 ? 2u : 1u);
  }
}

/// Tiles that are turned around, reductions of wide rows, of columns, and of parts of rows.
TEST(GpuCluster, BarriersAreMissed) {
  Case tile = overTwo(40, 36, "");
  tile.inputMaps = "affine_map<(r, c) -> (c, r)>";
  tile.inputs = "tensor<36x40xf32>";
  tile.body = "%y = math.tanh %x : f32";
  tile.yield = "%y";
  for (const Case &c : {tile, softmax(2, 2049, "1"), softmax(64, 40, "0"), softmax(1, 70000, "1")}) {
    MLIRContext context;
    auto module = parseClusters(context, textOf(c));
    const Removals removals = KernelPair(*module, "sm_90").removals(0);
    EXPECT_GT(removals.tried, 0) << textOf(c);
    for (const std::string &one : removals.unnoticed)
      ADD_FAILURE() << one << " of\n" << textOf(c);
  }
}

/// Points that are made, stored and reduced by columns (or rows) in one walk, on the bytes of what they are
/// made of: a gradient and that of the bias behind it.
TEST(GpuCluster, PointsAreStoredWhileTheyAreReduced) {
  for (const char *type : {"f32", "bf16"})
    for (const char *reduced : {"0", "1"})
      for (auto [rows, columns] : {std::pair(5, 7), {2100, 17}, {600, 264}, {2, 3001}}) {
        bool isWide = type[0] == 'f';
        Case c = overTwo(rows, columns, reduced);
        std::string tensor = fmt::format("tensor<{}x{}x{}>", rows, columns, type);
        c.inputs = fmt::format("{0} {0}", tensor);
        c.outputs = fmt::format("tensor<{}x{}> {}", reduced[0] == '0' ? columns : rows, type, tensor);
        c.inputMaps = fmt::format("{0}, {0}", kSame);
        c.outputMaps = fmt::format("{}, {}", reduced[0] == '0' ? kColumn : kRow, kSame);
        c.arguments = fmt::format("%x: {0}, %g: {0}", type);
        c.body =
            isWide ? "%t = math.tanh %x : f32\n %p = arith.mulf %t, %g : f32\n %s = sched.reduce add %p : f32"
                   : "%v = arith.extf %x : bf16 to f32\n %t = math.tanh %v : f32\n %w = arith.extf %g : bf16 "
                     "to f32\n"
                     "%m = arith.mulf %t, %w : f32\n %p = arith.truncf %m : f32 to bf16\n"
                     "%q = arith.extf %p : bf16 to f32\n %u = sched.reduce add %q : f32\n %s = arith.truncf "
                     "%u : f32 to bf16";
        c.yield = "%s, %p";
        c.yieldTypes = fmt::format("{0}, {0}", type);
        MLIRContext context;
        auto module = parseClusters(context, textOf(c));
        module->getOperation()->setAttr("kedge.target", StringAttr::get(&context, "cuda"));
        KernelPair pair(*module);
        EXPECT_EQ(pair.compare(0, 1, 0.5f, 2), "") << textOf(c);
        // A walk with partial sums, their sum, and where that is rounded a third kernel: never a second one
        // over the points.
        if (reduced[0] == '0' && rows > 2000) {
          EXPECT_EQ(pair.code(0).kernels.size(), isWide ? 2u : 3u);
        }
      }
}

/// The second dimension of a grid has 65,535 blocks at most: longer rows are cut along the first.
TEST(GpuCluster, GridsOfLongRowsAreThoseThatGpusTake) {
  for (int64_t columns : {int64_t(67107839), int64_t(67107841)}) {
    Case c = overTwo(3, columns, "");
    c.inputs += " tensor<3xf32>";
    c.inputMaps = fmt::format("{}, {}", kSame, kRow);
    c.arguments = "%x: f32, %s: f32";
    c.body = " %y = arith.mulf %x, %s : f32";
    c.yield = "%y";
    MLIRContext context;
    auto module = parseClusters(context, textOf(c));
    KernelPair pair(*module);
    const auto &grid = pair.code(0).kernels.front().grid;
    EXPECT_LE(grid[1], 65535) << columns;
    EXPECT_EQ(grid[1], columns < 67107840 ? 65535 : 1) << "rows that fit are walked";
  }
}

TEST(GpuCluster, MiddleIsReduced) {
  // Per-channel statistics: dims 0 and 2 are reduced, every point is normalised.
  for (auto [batch, channels, pixels] : {std::tuple(2, 3, 5), {4, 8, 64}, {3, 2, 20001}}) {
    Case c;
    c.inputs = fmt::format("tensor<{0}x{1}x{2}xf32>", batch, channels, pixels);
    c.outputs = fmt::format("{} tensor<{}xf32>", c.inputs, channels);
    c.domain = fmt::format("{}, {}, {}", batch, channels, pixels);
    c.reduced = "0, 2";
    c.inputMaps = "affine_map<(n, c, p) -> (n, c, p)>";
    c.outputMaps = c.inputMaps + ", affine_map<(n, c, p) -> (c)>";
    c.arguments = "%x: f32";
    c.body = fmt::format(
        "%n = arith.constant {}.0 : f32\n %s = sched.reduce add %x : f32\n %m = arith.divf %s, %n : f32\n"
        "%d = arith.subf %x, %m : f32\n %q = arith.mulf %d, %d : f32\n %v = sched.reduce add %q : f32\n"
        "%r = math.rsqrt %v : f32\n %y = arith.mulf %d, %r : f32",
        batch * pixels);
    c.yield = "%y, %m";
    c.yieldTypes = "f32, f32";
    check(textOf(c));
  }
}

TEST(GpuCluster, WholeTensorToScalars) {
  for (int64_t size : {1, 31, 1000, 100003}) {
    Case c;
    c.inputs = fmt::format("tensor<{0}xf32> tensor<{0}xi64>", size);
    c.outputs = "tensor<f32> tensor<i64>";
    c.domain = std::to_string(size);
    c.reduced = "0";
    c.inputMaps = "affine_map<(i) -> (i)>, affine_map<(i) -> (i)>";
    c.outputMaps = "affine_map<(i) -> ()>, affine_map<(i) -> ()>";
    c.arguments = "%x: f32, %n: i64";
    c.body = "%q = arith.mulf %x, %x : f32\n %s = sched.reduce add %q : f32\n %y = math.sqrt %s : f32\n %t = "
             "sched.reduce max %n : i64";
    c.yield = "%y, %t";
    c.yieldTypes = "f32, i64";
    check(textOf(c));
  }
}

TEST(GpuCluster, TypesAndBooleans) {
  for (const char *type : {"f16", "bf16", "f64", "i32", "i64", "i8"}) {
    bool isFloat = type[0] != 'i';
    Case c;
    c.inputs = fmt::format("tensor<6x20x{}> tensor<6x20xi1>", type);
    c.outputs = fmt::format("tensor<6x20x{}> tensor<6xi1>", type);
    c.domain = "6, 20";
    c.reduced = "1";
    c.inputMaps = fmt::format("{0}, {0}", kSame);
    c.outputMaps = fmt::format("{}, {}", kSame, kRow);
    c.arguments = fmt::format("%x: {}, %p: i1", type);
    c.body = fmt::format(
        "%s = arith.{1} %x, %x : {0}\n %y = arith.select %p, %s, %x : {0}\n %a = sched.reduce and %p : i1",
        type, isFloat ? "addf" : "addi");
    c.yield = "%y, %a";
    c.yieldTypes = fmt::format("{}, i1", type);
    check(textOf(c));
  }
}

/// Vectors of eight 16-bit elements, and shapes that allow only four or one; sums and functions in f32.
TEST(GpuCluster, HalfWidths) {
  for (const char *type : {"f16", "bf16"})
    for (auto [rows, columns] : {std::pair(7, 64), {5, 1032}, {9, 20}, {3, 37}})
      for (const char *reduced : {"1", "0"}) {
        Case c;
        std::string tensor = fmt::format("tensor<{}x{}x{}>", rows, columns, type);
        c.inputs = fmt::format("{0} {0} tensor<{1}xf32>", tensor, columns);
        c.outputs = fmt::format("{} tensor<{}xf32>", tensor, reduced[0] == '1' ? rows : columns);
        c.domain = fmt::format("{}, {}", rows, columns);
        c.reduced = reduced;
        c.inputMaps = fmt::format("{0}, {0}, {1}", kSame, kColumn);
        c.outputMaps = fmt::format("{}, {}", kSame, reduced[0] == '1' ? kRow : kColumn);
        c.arguments = fmt::format("%x: {0}, %y: {0}, %w: f32", type);
        c.body = fmt::format("%a = arith.extf %x : {0} to f32\n %b = arith.extf %y : {0} to f32\n"
                             "%q = arith.mulf %a, %b : f32\n %s = sched.reduce add %q : f32\n"
                             "%p = arith.mulf %a, %w : f32\n %z = arith.addf %p, %s : f32\n"
                             "%r = arith.truncf %z : f32 to {0}",
                             type);
        c.yield = "%r, %s";
        c.yieldTypes = fmt::format("{}, f32", type);
        check(textOf(c));
      }
}

TEST(GpuCluster, ReductionKinds) {
  for (const char *kind : {"add", "mul", "max", "min", "umax", "umin", "and", "or"})
    for (const char *type : {"i32", "i64", "f64"}) {
      if (std::string(type) == "f64" && kind[0] != 'a' && std::string(kind) != "max" &&
          std::string(kind) != "min")
        continue;
      if (std::string(type) == "f64" && std::string(kind) == "and")
        continue;
      Case c = overTwo(3, 77, "1");
      c.inputs = fmt::format("tensor<3x77x{}>", type);
      c.outputs = fmt::format("tensor<3x{}>", type);
      c.outputMaps = kRow;
      c.arguments = fmt::format("%x: {}", type);
      c.body = fmt::format("%y = sched.reduce {} %x : {}", kind, type);
      c.yield = "%y";
      c.yieldTypes = type;
      check(textOf(c));
    }
}

TEST(GpuCluster, SplitIndicesAndIndexValues) {
  Case c;
  c.inputs = "tensor<2x3x5x4xf32> tensor<2x5xi64>";
  c.outputs = "tensor<2x5x12xf32>";
  c.domain = "2, 5, 12";
  c.inputMaps = "affine_map<(b, t, c) -> (b, c floordiv 4, t, c mod 4)>, affine_map<(b, t, c) -> (b, t)>";
  c.outputMaps = "affine_map<(b, t, c) -> (b, t, c)>";
  c.arguments = "%x: f32, %label: i64";
  c.body = "%i = sched.index 2\n %hit = arith.cmpi eq, %i, %label : i64\n %one = arith.constant 1.0 : f32\n"
           "%z = arith.subf %x, %one : f32\n %y = arith.select %hit, %z, %x : f32";
  c.yield = "%y";
  c.yieldTypes = "f32";
  check(textOf(c));
}

TEST(GpuCluster, RandomNumbers) {
  for (int64_t columns : {8, 21}) {
    Case c = overTwo(6, columns, "");
    c.inputs += " tensor<i64> tensor<i64>";
    c.inputMaps = fmt::format("{}, affine_map<(r, c) -> ()>, affine_map<(r, c) -> ()>", kSame);
    c.arguments = "%x: f32, %seed: i64, %step: i64";
    c.body = "%r = sched.index 0\n %e = sched.index 1\n %u = sched.random 7 (%seed, %step, %r, %e)\n %y = "
             "arith.addf %x, %u : f32";
    c.yield = "%y";
    check(textOf(c));
  }
}

TEST(GpuCluster, RandomNumbersOfHalfWidth) {
  Case c;
  c.inputs = "tensor<6x16xbf16> tensor<i64> tensor<i64>";
  c.outputs = "tensor<6x16xbf16>";
  c.domain = "6, 16";
  c.inputMaps = fmt::format("{}, affine_map<(r, c) -> ()>, affine_map<(r, c) -> ()>", kSame);
  c.outputMaps = kSame;
  c.arguments = "%x: bf16, %seed: i64, %step: i64";
  c.body =
      "%r = sched.index 0\n %e = sched.index 1\n %u = sched.random 7 (%seed, %step, %r, %e)\n"
      "%w = arith.extf %x : bf16 to f32\n %s = arith.addf %w, %u : f32\n %y = arith.truncf %s : f32 to bf16";
  c.yield = "%y";
  c.yieldTypes = "bf16";
  check(textOf(c));
}

TEST(GpuCluster, NothingToDo) {
  Case c = overTwo(0, 8, "");
  c.body = "%y = math.exp %x : f32";
  c.yield = "%y";
  EXPECT_TRUE(check(textOf(c)).kernels.empty());
}

TEST(GpuCluster, EmptyReductionIsTheIdentity) {
  Case c = overTwo(3, 0, "1");
  c.outputs = "tensor<3xf32>";
  c.outputMaps = kRow;
  c.body = "%y = sched.reduce add %x : f32";
  c.yield = "%y";
  check(textOf(c));
}

/// Functions that the GPU has expansions of its own for, against the CPU's polynomials and libm.
TEST(GpuMath, Functions) {
  struct Range {
    const char *name;
    float low, high;
  };
  for (Range f : {Range{"tanh", -12, 12}, {"erf", -5, 5},    {"exp", -100, 88},    {"log", 0, 100},
                  {"log1p", -1, 3},       {"expm1", -3, 3},  {"sin", -1e5f, 1e5f}, {"cos", -3e38f, 3e38f},
                  {"sin", -1e12f, 1e12f}, {"tan", -1, 1},    {"asin", -1, 1},      {"acos", -1, 1},
                  {"atan", -30, 30},      {"sinh", -10, 10}, {"cosh", -10, 10},    {"asinh", -50, 50},
                  {"acosh", 1, 90},       {"atanh", -1, 1},  {"exp2", -126, 127},  {"log2", 0, 9},
                  {"sqrt", 0, 9},         {"rsqrt", 0, 9},   {"floor", -9, 9},     {"round", -9, 9},
                  {"roundeven", -9, 9}}) {
    Case c = overTwo(7, 300, "");
    c.body = fmt::format("%y = math.{} %x : f32", f.name);
    c.yield = "%y";
    SCOPED_TRACE(f.name);
    check(textOf(c), f.low, f.high);
  }
}

TEST(GpuMath, Powers) {
  for (const char *type : {"f32", "f64"}) {
    Case c;
    c.inputs = fmt::format("tensor<400x{0}> tensor<400x{0}>", type);
    c.outputs = fmt::format("tensor<400x{}>", type);
    c.domain = "400";
    c.inputMaps = "affine_map<(i) -> (i)>, affine_map<(i) -> (i)>";
    c.outputMaps = "affine_map<(i) -> (i)>";
    c.arguments = fmt::format("%x: {0}, %n: {0}", type);
    // Whole exponents of bases of either sign, and any of positive ones.
    c.body = fmt::format("%a = math.absf %x : {0}\n %f = math.floor %n : {0}\n %p = math.powf %x, %f : {0}\n"
                         "%q = math.powf %a, %n : {0}\n %y = arith.addf %p, %q : {0}",
                         type);
    c.yield = "%y";
    c.yieldTypes = type;
    check(textOf(c), -4, 4);
  }
}

} // namespace
} // namespace kedge::test
