// One library call, by the CPU's kernel and by the generated GPU kernels in the simulator, on the same
// inputs.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "test/support/GpuPtx.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::test {

struct CaseOptions {
  int64_t low = 0, high = 0; ///< of integers among the inputs
  double tolerance = 0;      ///< |actual - expected| <= tolerance (1 + |expected|); 0: equal bits
};

/// Floats are in [-1, 1). Calls on 16-bit floats are compared with the CPU's kernel on the same numbers in
/// f32, whose results are rounded once: they may be a unit in the last place apart, besides the tolerance. ""
/// when the outputs agree, two runs of the GPU's kernels (whose threads take turns in another order) give
/// equal bits, nothing is written outside of outputs and workspace. Else what is wrong. With an architecture
/// the GPU's kernels run once, as its PTX, and findings of the interpreter are wrong, too.
std::string compareWithCpu(sched::LibraryOp call, const CaseOptions &options, llvm::StringRef arch = "");

/// Of the call's kernels, in the interpreter of PTX.
Removals removalsOf(const std::string &call, llvm::StringRef arch);

/// For a call of a model: indices that its data has, room for other orders of summation.
CaseOptions optionsOf(sched::LibraryOp call);

/// `call`: "onnx.Gather {axis = 0 : i64} : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>".
void expectSameAsCpu(const std::string &call, const CaseOptions &options = {}, llvm::StringRef arch = "");

/// What the emitter says of a call that it does not take; "" when it takes it.
std::string emitterErrorOf(const std::string &call);

/// Bytes of registers that ptxas writes to memory, of all kernels of the call together; -1 where there is no
/// ptxas.
int64_t spillsOf(const std::string &call, const std::string &arch);

} // namespace kedge::test
