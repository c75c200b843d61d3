#include "passes/Lower/Gpu/library/CallKernels.h"
#include "lib/Analysis/LibraryCall.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

Type memoryElement(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(tensor.getContext(), std::max(8u, integer.getWidth()));
  return element;
}

bool needsWideIndices(sched::LibraryOp op) {
  constexpr int64_t kSlack = 1 << 20; // threads past the end
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (cast<RankedTensorType>(type).getNumElements() > INT32_MAX - kSlack)
      return true;
  return false;
}

} // namespace

CallKernels::CallKernels(GpuEmitter &emitter, sched::LibraryOp op)
    : call(analysis::libraryCallOf(op)), op(op), emitter(emitter), context(op.getContext()),
      wide(needsWideIndices(op)) {
  llvm::raw_string_ostream os(key);
  os << op.getKernel() << op.getAttrs() << op->getOperandTypes() << "->" << op->getResultTypes();
}

Operand CallKernels::input(size_t at) const {
  return {{KernelLaunch::Operand::Tensor, int64_t(at)},
          memoryElement(sched::LibraryOp(op)->getOperand(at).getType())};
}
Operand CallKernels::output(size_t at) const {
  return {{KernelLaunch::Operand::Tensor, int64_t(call.inputs.size() + at)},
          memoryElement(sched::LibraryOp(op)->getResult(at).getType())};
}

Operand CallKernels::bits(Operand operand) const {
  return {operand.place, integer(operand.element.getIntOrFloatBitWidth())};
}

Operand CallKernels::workspace(Type element, int64_t count) {
  constexpr int64_t kAlignment = 256;
  Operand piece{{KernelLaunch::Operand::Workspace, code.workspaceBytes}, element};
  int64_t bytes = count * element.getIntOrFloatBitWidth() / 8;
  code.workspaceBytes += ceilDiv(bytes, kAlignment) * kAlignment;
  return piece;
}

Operand CallKernels::map(TensorMap map) {
  maps.push_back(std::move(map));
  return {{KernelLaunch::Operand::Map, int64_t(maps.size()) - 1}, integer(8)};
}

void CallKernels::expectFloat(Operand operand) const {
  Type type = operand.element;
  if (!type.isF32() && !type.isF64() && !type.isF16() && !type.isBF16())
    rt::calls::failCall(call,
                        "kernels for CUDA take f16, bf16, f32 or f64 here: cast before it, or compile for "
                        "--target cpu");
}

void CallKernels::kernel(StringRef hint, int64_t blocks, int64_t threads, ArrayRef<Operand> operands,
                         Body body) {
  if (blocks == 0)
    return;
  KernelLaunch launch;
  launch.grid = {blocks, 1, 1}, launch.block = {threads, 1, 1};
  for (const Operand &operand : operands)
    launch.operands.push_back(operand.place);
  launch.maps = maps;
  std::string whole = (key + "|" + hint + "|" + Twine(code.kernels.size())).str();
  launch.name = emitter.kernel(whole, hint, operands.size(), launch.block, [&](OpBuilder &b, auto function) {
    KernelBuilder k(b, function, wide);
    SmallVector<Memory> memories;
    for (auto [at, operand] : llvm::enumerate(operands))
      memories.push_back({function.getArgument(at), operand.element, operand.compute});
    body(k, memories);
  });
  code.kernels.push_back(std::move(launch));
}

void CallKernels::forEach(StringRef hint, int64_t count, ArrayRef<Operand> operands, ElementBody body) {
  kernel(hint, ceilDiv(count, kElementThreads), kElementThreads, operands,
         [&](KernelBuilder &k, ArrayRef<Memory> memories) {
           Num at = k.block() * kElementThreads + k.thread();
           if (count % kElementThreads == 0)
             return body(k, memories, at);
           k.when(at < count, [&] { body(k, memories, at); });
         });
}
