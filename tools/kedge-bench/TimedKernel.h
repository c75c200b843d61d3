// Kernels that run alone, for timing: a library kernel, or a generated one from the text of its cluster.
#pragma once
#include "passes/Lower/Codegen/JitProgram.h"
#include "runtime/calls/LibraryKernel.h"
#include <memory>
#include <vector>

namespace kedge::bench {

class TimedKernel {
public:
  virtual ~TimedKernel() = default;
  /// Best of many runs, of at least two; about 0.3 s in all. Other work on the machine shows in long runs
  /// only.
  double bestSeconds();

protected:
  virtual void run() = 0;
  /// 64-byte aligned, and touched; freed with this object.
  char *allocate(size_t bytes);
  /// Small numbers that are no powers of two.
  static void fillFloats(void *memory, int64_t count);

private:
  struct Free {
    void operator()(char *memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<char, Free>> memory;
};

/// Operands that are not f32 are zero.
class LibraryTiming final : public TimedKernel {
public:
  LibraryTiming(const rt::calls::LibraryCall &call, int threads);
  rt::calls::CallWork work() const { return callWork; }

private:
  void run() override { kernel->run(inputs.data(), outputs.data(), workspace); }

  rt::calls::CallWork callWork;
  std::unique_ptr<rt::calls::LibraryKernel> kernel;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  char *workspace = nullptr;
};

/// A function with one sched.cluster of f32 operands; threads share it as in a program.
class ClusterTiming final : public TimedKernel {
public:
  ClusterTiming(const std::string &function, int threads);

private:
  void run() override;

  std::unique_ptr<lower::JitProgram> program;
  KedgeKernel kernel = nullptr;
  int64_t iterations = 0, grain = 1;
  int threads;
  std::vector<char *> arguments;
};

} // namespace kedge::bench
