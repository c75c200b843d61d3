#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "passes/Precision/Passes.h"

namespace kedge::precision {
#define GEN_PASS_DEF_CHOOSEFLOAT8
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

/// What tensor cores of 8-bit floats take: sizes in steps of 16 bytes.
constexpr int64_t kStep = 16;

struct Sizes {
  int64_t rows = 0, columns = 0, inner = 0;
  bool fit() const { return rows % kStep == 0 && columns % kStep == 0 && inner % kStep == 0; }
};

template <typename Op> std::optional<Sizes> sizesOf(Op product) {
  ArrayRef<int64_t> a = shapeOf(product.getA()), b = shapeOf(product.getB());
  if (a.size() < 2 || b.size() < 2)
    return std::nullopt;
  auto [rows, inner] = std::pair(a[a.size() - 2], a.back());
  // Rows that are multiplied by one matrix are rows of one product, whatever dims they have.
  if (b.size() == 2 && !product.getTransA())
    rows = elementCount(a.drop_back());
  if (product.getTransA())
    std::swap(rows, inner);
  return Sizes{rows, product.getTransB() ? b[b.size() - 2] : b.back(), inner};
}

std::optional<Sizes> sizesOf(Operation *op) {
  if (!elementOf(op->getOperand(0)).isBF16() || !elementOf(op->getOperand(1)).isBF16())
    return std::nullopt;
  auto gemm = dyn_cast<onnx::GemmOp>(op);
  return gemm ? sizesOf(gemm) : sizesOf(cast<onnx::MatMulOp>(op));
}

struct ChooseFloat8 : impl::ChooseFloat8Base<ChooseFloat8> {
  void run() override {
    func::FuncOp function = getOperation();
    if (train::kindOf(function) != train::FunctionKind::Model)
      return;
    Block &block = function.getBody().front();
    const llvm::DenseSet<Operation *> heads = onnx::headsBefore(block.getTerminator());
    Builder b(&getContext());
    Type type = Float8E4M3FNType::get(&getContext());
    int64_t chosen = 0, left = 0;
    for (Operation &op : block) {
      if (!onnx::isMatmul(&op))
        continue;
      std::optional<Sizes> sizes = sizesOf(&op);
      const bool fits = sizes && sizes->fit() && !heads.contains(&op);
      ++(fits ? chosen : left);
      if (fits)
        op.setAttr(train::kFloat8, b.getTypeArrayAttr({type, type}));
    }
    if (chosen == 0) {
      function.emitError() << "--precision fp8: of " << left
                           << " products of matrices none has rows, columns and summed dimension that are "
                           << "multiples of " << kStep
                           << ", is computed in bf16, and is not the head; give --precision bf16, or a "
                           << "--shape with a multiple of " << kStep << " rows";
      return signalPassFailure();
    }
    addStatistic("products in 8 bits", chosen);
    addStatistic("other products", left);
  }
};
} // namespace
} // namespace kedge::precision
