// Updates of many tensors in one launch: the bits of single launches, and no byte beside the tensors.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Gpu/FlatKernels.h"
#include "test/support/GpuSimulator.h"
#include "test/unit/gpu/Numbers.h"
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::test {
namespace {

/// Adam's form: weight, moment, gradient of another type, a rate, whether some gradient is infinite; the
/// moment and the weight are new.
std::string updateOf(const std::string &shape, const std::string &dims, const std::string &indices,
                     int number) {
  return fmt::format(
      "%r{3}:2 = sched.cluster domain [{1}] reduced [] (%p{3}, %m{3}, %g{3}, %rate, %found) maps "
      "[affine_map<({2}) "
      "-> ({2})>, "
      "affine_map<({2}) -> ({2})>, affine_map<({2}) -> ({2})>, affine_map<({2}) -> ()>, affine_map<({2}) -> "
      "()>] -> [affine_map<({2}) "
      "-> ({2})>, "
      "affine_map<({2}) -> ({2})>] {{\n^bb0(%p: f32, %m: f32, %h: bf16, %rate_: f32, %found_: i1):\n"
      "%c = arith.constant 1.25e-1 : f32\n %g = arith.extf %h : bf16 to f32\n %d = arith.subf %g, %m : f32\n"
      "%s = arith.mulf %d, %c : f32\n %n = arith.addf %m, %s : f32\n %a = math.absf %n : f32\n %t = "
      "math.sqrt %a : f32\n"
      "%e = arith.addf %t, %rate_ : f32\n %q = arith.divf %n, %e : f32\n %w = arith.mulf %rate_, %c : f32\n"
      "%u = arith.mulf %q, %w : f32\n %o = arith.subf %p, %u : f32\n %v = arith.select %found_, %p, %o : "
      "f32\n sched.yield %v, %n : f32, f32\n"
      "}} : (tensor<{0}f32>, tensor<{0}f32>, tensor<{0}bf16>, tensor<f32>, tensor<i1>) -> (tensor<{0}f32>, "
      "tensor<{0}f32>)\n",
      shape, dims, indices, number);
}

struct Tensors {
  std::string shape, dims, indices;
  int64_t elements;
};
const Tensors kTensors[] = {{"5x", "5", "i", 5},          {"3x256x", "3, 256", "i, j", 768},
                            {"4096x", "4096", "i", 4096}, {"7x1429x", "7, 1429", "i, j", 10003},
                            {"2x", "2", "i", 2},          {"13000x", "13000", "i", 13000}};

std::string moduleText() {
  std::string arguments = "%rate: tensor<f32>, %found: tensor<i1>", body;
  for (auto [number, t] : llvm::enumerate(kTensors)) {
    arguments += fmt::format(", %p{0}: tensor<{1}f32>, %m{0}: tensor<{1}f32>, %g{0}: tensor<{1}bf16>", number,
                             t.shape);
    body += updateOf(t.shape, t.dims, t.indices, int(number));
  }
  return fmt::format("func.func @f({}) {{\n{}return\n}}\n", arguments, body);
}

class Group : public testing::Test {
protected:
  Group() : context(dialects()), module(parseSourceString<ModuleOp>(moduleText(), &context)) {
    context.loadDialect<mlir::gpu::GPUDialect>();
    auto b = OpBuilder::atBlockEnd(module->getBody());
    kernels = mlir::gpu::GPUModuleOp::create(b, module->getLoc(), "kernels");
    GpuEmitter emitter(kernels);
    module->walk([&](sched::ClusterOp cluster) {
      singles.push_back(*emitter.emit(cluster));
      flats.push_back(emitter.emitFlat(cluster));
    });
  }
  static DialectRegistry dialects() {
    DialectRegistry registry;
    registry.insert<sched::SchedDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
    return registry;
  }
  /// Bytes from the first weight to each operand of an update: tensors follow one another from a multiple of
  /// 256 on, the rate and the bool lie before them all.
  void place() {
    int64_t next = 256;
    auto take = [&](int64_t bytes) { return std::exchange(next, next + (bytes + 64 + 255) / 256 * 256); };
    for (const Tensors &t : kTensors) {
      int64_t p = take(4 * t.elements), m = take(4 * t.elements), g = take(2 * t.elements);
      offsets.push_back({p, m, g, 0, 4, p, m});
    }
    bytes = next;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  mlir::gpu::GPUModuleOp kernels;
  std::vector<LaunchCode> singles;
  std::vector<std::optional<FlatCode>> flats;
  std::vector<llvm::SmallVector<int64_t>> offsets;
  int64_t bytes = 0;
};

TEST_F(Group, EqualsSingleLaunchesToTheBit) {
  place();
  std::vector<FlatTensors> sets;
  int64_t base = offsets[0][0];
  for (auto [at, t] : llvm::enumerate(kTensors)) {
    ASSERT_TRUE(flats[at].has_value());
    EXPECT_EQ(flats[at]->function, flats[0]->function);
    EXPECT_EQ(flats[at]->elements, t.elements);
    FlatTensors &set = sets.emplace_back(FlatTensors{t.elements, offsets[at]});
    for (int64_t &offset : set.offsets)
      offset -= base;
  }
  KernelLaunch group =
      emitGroup(kernels.lookupSymbol<mlir::gpu::GPUFuncOp>(flats[0]->function), sets, "updates");
  EXPECT_EQ(group.grid[0], 1 + 1 + 1 + 3 + 1 + 4);
  kernels.lookupSymbol(flats[0]->function)->erase();
  GpuSimulator simulator(kernels);

  auto whole = RankedTensorType::get({bytes / 4}, Float32Type::get(&context));
  std::vector<char> alone(bytes), together(bytes);
  std::mt19937 random(3);
  fill(whole, alone.data(), random, -2, 2);
  alone[4] = 0; // a bool is one byte
  together = alone;
  const std::vector<char> before = alone;
  for (auto [code, places] : llvm::zip(singles, offsets)) {
    std::vector<char *> tensors;
    for (int64_t offset : places)
      tensors.push_back(alone.data() + offset);
    simulator.run(code, tensors, nullptr);
  }
  LaunchCode code;
  code.kernels.push_back(group);
  char *first = together.data() + base;
  simulator.run(code, {first}, nullptr);
  EXPECT_NE(std::memcmp(before.data(), together.data(), bytes), 0);
  for (int64_t at = 0; at < bytes; ++at)
    ASSERT_EQ(alone[at], together[at]) << "byte " << at;
}

/// What no function of elements can say keeps its own kernel.
TEST_F(Group, ShapesThatMatterAreNotFlat) {
  GpuEmitter emitter(kernels);
  for (const char *text : {// a bias along rows
                           "func.func @f(%x: tensor<4x8xf32>, %b: tensor<8xf32>) {\n %r = sched.cluster "
                           "domain [4, 8] reduced [] (%x, %b) maps "
                           "[affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>] -> [affine_map<(i, j) "
                           "-> (i, j)>] {\n^bb0(%a: f32, %c: f32):"
                           "\n %y = arith.addf %a, %c : f32\n sched.yield %y : f32\n} : (tensor<4x8xf32>, "
                           "tensor<8xf32>) -> tensor<4x8xf32>\n return\n}",
                           // a reduction
                           "func.func @f(%x: tensor<8xf32>) {\n %r = sched.cluster domain [8] reduced [0] "
                           "(%x) maps [affine_map<(i) -> (i)>] -> "
                           "[affine_map<(i) -> ()>] {\n^bb0(%a: f32):\n %y = sched.reduce add %a : f32\n "
                           "sched.yield %y : f32\n} : (tensor<8xf32>) "
                           "-> tensor<f32>\n return\n}",
                           // an index
                           "func.func @f(%x: tensor<8xi64>) {\n %r = sched.cluster domain [8] reduced [] "
                           "(%x) maps [affine_map<(i) -> (i)>] -> "
                           "[affine_map<(i) -> (i)>] {\n^bb0(%a: i64):\n %i = sched.index 0\n %y = "
                           "arith.addi %a, %i : i64\n sched.yield %y : i64\n} "
                           ": (tensor<8xi64>) -> tensor<8xi64>\n return\n}"}) {
    auto parsed = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(parsed) << text;
    parsed->walk(
        [&](sched::ClusterOp cluster) { EXPECT_FALSE(emitter.emitFlat(cluster).has_value()) << text; });
  }
}

} // namespace
} // namespace kedge::test
