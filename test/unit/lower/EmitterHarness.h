// Compiles one cluster given as text and runs it in this process.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Codegen/JitProgram.h"
#include "passes/Lower/Cpu/KernelEmitter.h"
#include <gtest/gtest.h>
#include <random>

namespace kedge::test {

/// The kernel of the only cluster of a module.
class Cluster {
public:
  explicit Cluster(const std::string &function,
                   const lower::KernelTarget &target = lower::KernelTarget::host(), int optLevel = 2) {
    mlir::DialectRegistry registry;
    registry.insert<sched::SchedDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                    mlir::math::MathDialect>();
    mlir::MLIRContext context(registry);
    auto source = mlir::parseSourceString<mlir::ModuleOp>(function, &context);
    if (!source)
      throw std::runtime_error("the test's cluster does not parse");
    auto kernels = mlir::ModuleOp::create(source->getLoc());
    lower::KernelEmitter emitter(kernels);
    source->walk([&](sched::ClusterOp cluster) {
      auto emitted = emitter.emit(cluster);
      if (failed(emitted))
        throw std::runtime_error("the test's cluster is not emitted");
      info = *emitted;
    });
    auto objects = lower::compileKernels(kernels, target, optLevel);
    kernels.erase();
    if (failed(objects))
      throw std::runtime_error("the test's cluster is not compiled");
    program = lower::JitProgram::create(*objects);
    kernel = program->lookup(info.name);
  }

  /// Runs all iterations, in `slices` calls from last to first.
  template <typename... Buffers> void run(int slices, Buffers &...buffers) {
    char *args[] = {reinterpret_cast<char *>(buffers.data())...};
    for (int slice = slices; slice-- > 0;)
      kernel(args, info.iterations * slice / slices, info.iterations * (slice + 1) / slices);
  }

  /// Runs all iterations.
  void call(char *const *args) { kernel(args, 0, info.iterations); }

  lower::KernelInfo info;

private:
  std::unique_ptr<lower::JitProgram> program;
  KedgeKernel kernel = nullptr;
};

inline std::vector<float> randomFloats(size_t count, unsigned seed, float low = -2, float high = 2) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

} // namespace kedge::test
