// A pass for kedge-opt --load-pass-plugin that crashes where an onnx.Add reads a product: what reducers are
// tried on.
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include <csignal>
#include <cstdlib>

using namespace mlir;

namespace {
bool isMatmul(Operation *op) {
  return op && (op->getName().getStringRef() == "onnx.MatMul" || op->getName().getStringRef() == "onnx.Gemm");
}

struct CrashPass : PassWrapper<CrashPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CrashPass)
  StringRef getArgument() const override { return "test-crash"; }

  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (op->getName().getStringRef() != "onnx.Add")
        return;
      for (Value operand : op->getOperands())
        if (isMatmul(operand.getDefiningOp())) {
          std::signal(SIGABRT, SIG_DFL); // a stack trace for each try takes long
          std::abort();
        }
    });
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "KedgeCrashPass", LLVM_VERSION_STRING,
          [] { PassRegistration<CrashPass>(); }};
}
