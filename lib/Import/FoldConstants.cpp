#include "kedge/Dialect/ONNX/CoreOps.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "lib/Support/TensorLimits.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

static void removeDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

static bool isSmall(Value value, int64_t limit) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && saturatedCount(type.getShape()) <= limit;
}

void kedge::importer::foldConstants(Operation *function, int64_t limit) {
  Block &block = cast<func::FuncOp>(function).front();
  removeDead(block);
  {
    interpret::ConstantEvaluator evaluator;
    for (Operation &op : block) {
      if (isa<onnx::ConstantOp>(op) || !isPure(&op))
        continue;
      OpBuilder builder(&op);
      for (Value result : op.getResults())
        if (isSmall(result, limit) && !result.use_empty())
          if (const interpret::HostTensor *value = evaluator.evaluate(result))
            result.replaceAllUsesWith(onnx::ConstantOp::create(builder, op.getLoc(), value->toAttribute()));
    }
  }
  removeDead(block);
}
