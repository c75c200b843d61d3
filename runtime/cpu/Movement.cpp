// onnx.Transpose, Expand, Tile, DepthToSpace, SpaceToDepth, Concat, Split, Slice: strided copies.
#include "runtime/cpu/CopyPlans.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt::cpu {
namespace {

std::unique_ptr<LibraryKernel> makeCopies(const LibraryCall &call, int threads) {
  struct Step {
    size_t input, output;
    StridedCopy copy;
  };
  std::vector<Step> steps;
  std::vector<CopyPlan> plans = *planCopies(call);
  for (CopyPlan &plan : plans)
    steps.push_back({plan.input, plan.output,
                     StridedCopy(std::move(plan.dims), plan.from, plan.to, call.outputs[plan.output].type, threads)});
  KernelWork work;
  if (call.name == "onnx.Slice")
    work = partialRead(static_cast<double>(call.outputs[0].bytes()));
  return closure(work, [steps = std::move(steps)](Inputs in, Outputs out, void *) {
    for (const Step &step : steps)
      step.copy.run(in[step.input], out[step.output]);
  });
}

} // namespace

void registerMovement() {
  for (const char *name : {"onnx.Transpose", "onnx.Expand", "onnx.Tile", "onnx.DepthToSpace", "onnx.SpaceToDepth",
                           "onnx.Concat", "onnx.Split", "onnx.Slice"})
    registerKernel(name, makeCopies);
}

} // namespace kedge::rt::cpu
