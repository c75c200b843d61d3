// --count-ops: says how many products a function has, and how large the largest is.
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

namespace {

struct CountOps : mlir::PassWrapper<CountOps, mlir::OperationPass<mlir::func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountOps)
  llvm::StringRef getArgument() const override { return "count-ops"; }
  llvm::StringRef getDescription() const override { return "says how many products a function has"; }

  void runOnOperation() override {
    int64_t products = 0, largest = 0;
    getOperation().walk([&](mlir::Operation *op) {
      if (!mlir::isa<kedge::onnx::MatMulOp, kedge::onnx::GemmOp>(op))
        return;
      ++products;
      largest = std::max(largest, kedge::elementCount(kedge::shapeOf(op->getResult(0))));
    });
    getOperation().emitRemark() << products << " products; the largest makes " << largest << " numbers";
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "count-ops", "1", [] { mlir::PassRegistration<CountOps>(); }};
}
