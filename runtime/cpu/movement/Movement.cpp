// onnx.Transpose, Expand, Tile, DepthToSpace, SpaceToDepth, Concat, Split, Slice: strided copies. And `copy`,
// between the arenas.
#include "runtime/calls/CopyPlans.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/movement/StridedCopy.h"
#include <cstring>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

std::unique_ptr<LibraryKernel> makeCopies(const LibraryCall &call, int threads) {
  struct Step {
    size_t input, output;
    StridedCopy copy;
  };
  std::vector<Step> steps;
  std::vector<CopyPlan> plans = *planCopies(call);
  for (CopyPlan &plan : plans)
    steps.push_back(
        {plan.input, plan.output,
         StridedCopy(std::move(plan.dims), plan.from, plan.to, call.outputs[plan.output].type, threads)});
  return closure([steps = std::move(steps)](Inputs in, Outputs out, void *) {
    for (const Step &step : steps)
      step.copy.run(in[step.input], out[step.output]);
  });
}

/// Between the arena and the arena of host memory, which are both this machine's memory.
std::unique_ptr<LibraryKernel> makeCopy(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectShape(call, call.outputs[0], call.inputs[0].shape, "the copy");
  return closure([=, bytes = static_cast<int64_t>(call.inputs[0].bytes())](Inputs in, Outputs out, void *) {
    parallelFor(threads, bytes, grainFor(1), [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<char *>(out[0]) + begin, static_cast<const char *>(in[0]) + begin, end - begin);
    });
  });
}

} // namespace

KEDGE_REGISTER(Movement) {
  for (const char *name : {"onnx.Transpose", "onnx.Expand", "onnx.Tile", "onnx.DepthToSpace",
                           "onnx.SpaceToDepth", "onnx.Concat", "onnx.Split", "onnx.Slice"})
    registerKernel(name, makeCopies);
  registerKernel("copy", makeCopy);
}

} // namespace kedge::rt::cpu
