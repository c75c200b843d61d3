// Rounding to bf16 and 8-bit floats as a device's instructions and as operations on integers: equal bits, but
// for NaNs, which stay NaNs.
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Codegen/JitProgram.h"
#include "passes/Lower/Cpu/KernelEmitter.h"
#include "test/support/GpuPtx.h"
#include "test/support/PtxFunctions.h"
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

struct Narrowing {
  const char *type, *instruction;
  float largest; ///< numbers beyond it are cut to it before; 0: none is
  int bits;
  const llvm::fltSemantics &(*format)();
};

const Narrowing kNarrowings[] = {
    {"bf16", "cvt.rn.bf16x2.f32", 0, 16, llvm::APFloat::BFloat},
    {"f8E4M3FN", "cvt.rn.satfinite.e4m3x2.f32", 448, 8, llvm::APFloat::Float8E4M3FN},
    {"f8E5M2", "cvt.rn.satfinite.e5m2x2.f32", 57344, 8, llvm::APFloat::Float8E5M2},
};

/// Rounds `count` floats, cut as the casts of `--precision fp8` cut them.
std::string cluster(const Narrowing &to, int64_t count) {
  const bool cuts = to.largest != 0;
  const std::string cut =
      cuts ? fmt::format("%t = arith.constant {0:.1f} : f32\n %b = arith.constant -{0:.1f} : f32\n"
                         "%u = arith.minimumf %x, %t : f32\n %c = arith.maximumf %u, %b : f32\n",
                         to.largest)
           : "";
  return fmt::format("func.func @f(%a: tensor<{0}xf32>) {{\n %r = sched.cluster domain [{0}] reduced [] (%a) "
                     "maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {{\n^bb0(%x: f32):\n"
                     "{2} %y = arith.truncf {3} : f32 to {1}\n"
                     " sched.yield %y : {1}\n }} : (tensor<{0}xf32>) -> tensor<{0}x{1}>\n return\n}}\n",
                     count, to.type, cut, cuts ? "%c" : "%x");
}

uint32_t codeAt(const Narrowing &to, const std::vector<char> &codes, size_t at) {
  uint32_t code = 0;
  std::memcpy(&code, codes.data() + at * to.bits / 8, to.bits / 8);
  return code;
}

bool isNaN(const Narrowing &to, uint32_t code) {
  return llvm::APFloat(to.format(), llvm::APInt(to.bits, code)).isNaN();
}

/// Rounding by the CPU's kernel.
class IntegerRounding {
public:
  IntegerRounding(const Narrowing &to, int64_t count) : to(to), count(count) {
    MLIRContext context;
    auto module = parseClusters(context, cluster(to, count));
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(module->getLoc());
    lower::KernelEmitter emitter(*kernels);
    module->walk([&](sched::ClusterOp op) { kernel = *emitter.emit(op); });
    auto objects = lower::compileKernels(*kernels, lower::KernelTarget::host(), 2);
    program = lower::JitProgram::create(*objects);
  }

  std::vector<char> operator()(std::vector<float> &values) {
    std::vector<char> codes(count * to.bits / 8);
    char *arguments[] = {reinterpret_cast<char *>(values.data()), codes.data()};
    program->lookup(kernel.name)(arguments, 0, kernel.iterations);
    return codes;
  }

private:
  const Narrowing &to;
  int64_t count;
  lower::KernelInfo kernel;
  std::unique_ptr<lower::JitProgram> program;
};

/// Every upper half of a float, with lower halves around what decides a rounding.
std::vector<float> sampledFloats() {
  std::vector<float> values;
  for (uint32_t upper = 0; upper < 1 << 16; ++upper)
    for (uint32_t lower : {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x5a5a})
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
  return values;
}

/// The kernel of the PTX that ptxas gets, in the interpreter.
std::vector<char> interpreted(const Narrowing &to, std::vector<float> &values, const char *arch) {
  MLIRContext context;
  auto module = parseClusters(context, cluster(to, values.size()));
  context.loadDialect<mlir::gpu::GPUDialect>();
  OwningOpRef<ModuleOp> holder = ModuleOp::create(module->getLoc());
  auto b = OpBuilder::atBlockBegin(holder->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(b, module->getLoc(), "kernels");
  lower::gpu::GpuEmitter emitter(kernels);
  FailureOr<lower::gpu::LaunchCode> code = failure();
  module->walk([&](sched::ClusterOp op) { code = emitter.emit(op); });
  std::vector<char> codes(values.size() * to.bits / 8);
  llvm::MutableArrayRef<char> tensors[] = {
      {reinterpret_cast<char *>(values.data()), values.size() * sizeof(float)}, codes};
  EXPECT_EQ(GpuPtx(kernels, arch).run(*code, tensors, {}), "");
  return codes;
}

/// The nearest number of the type, by LLVM's own arithmetic.
uint32_t exactly(const Narrowing &to, float value) {
  llvm::APFloat number(to.largest == 0 ? value : std::fmin(std::fmax(value, -to.largest), to.largest));
  bool inexact;
  number.convert(to.format(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return uint32_t(number.bitcastToAPInt().getZExtValue());
}

TEST(DeviceRounding, OfSampledFloatsIsThatOfIntegers) {
  std::vector<float> values = sampledFloats();
  for (const Narrowing &to : kNarrowings) {
    const std::vector<char> integers = IntegerRounding(to, values.size())(values);
    for (const char *arch : {"sm_80", "sm_90", "sm_100"}) {
      SCOPED_TRACE(fmt::format("{} on {}", to.type, arch));
      const std::vector<char> device = interpreted(to, values, arch);
      int64_t differ = 0;
      for (size_t at = 0; at < values.size(); ++at) {
        const uint32_t expected = codeAt(to, integers, at), found = codeAt(to, device, at);
        const bool areNaNs = std::isnan(values[at]) && isNaN(to, expected) && isNaN(to, found);
        differ += !areNaNs && (expected != found || found != exactly(to, values[at]));
      }
      EXPECT_EQ(differ, 0);
    }
  }
}

// All 2^32 of them: what the instruction is, against the CPU's kernel.
TEST(DeviceRounding, OfEveryFloatIsThatOfIntegers) {
  constexpr uint64_t kPart = 1 << 20;
  std::vector<float> values(kPart);
  for (const Narrowing &to : kNarrowings) {
    SCOPED_TRACE(to.instruction);
    IntegerRounding integers(to, kPart);
    const PtxFunction device = ptxFunction(to.instruction);
    int64_t differ = 0, nans = 0;
    for (uint64_t first = 0; first < uint64_t(1) << 32; first += kPart) {
      for (uint64_t at = 0; at < kPart; ++at)
        values[at] = std::bit_cast<float>(uint32_t(first + at));
      const std::vector<char> codes = integers(values);
      for (uint64_t at = 0; at < kPart; at += 2) {
        const uint64_t pair = device(uint32_t(first + at + 1), uint32_t(first + at), 0);
        for (uint64_t lane = 0; lane < 2; ++lane) {
          const uint32_t expected = codeAt(to, codes, at + lane);
          const uint32_t found = uint32_t(pair >> (lane * to.bits)) & ((1u << to.bits) - 1);
          if (expected == found)
            continue;
          const bool areNaNs = std::isnan(values[at + lane]) && isNaN(to, expected) && isNaN(to, found);
          nans += areNaNs;
          differ += !areNaNs;
        }
      }
    }
    EXPECT_EQ(differ, 0);
    RecordProperty(to.type, std::to_string(nans) + " NaNs with other payloads");
  }
}

} // namespace
} // namespace kedge::test
