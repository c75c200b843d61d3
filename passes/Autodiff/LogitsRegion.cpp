#include "passes/Autodiff/LogitsRegion.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kedge::autodiff {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t lastDim(Value value) { return typeOf(value).getRank() ? typeOf(value).getShape().back() : 1; }

/// What MatMul and Gemm have in common.
struct MatmulOperands {
  Value a, b, c;
  bool transA = false, transB = false, scales = false;

  static std::optional<MatmulOperands> of(Operation *op) {
    if (auto matmul = dyn_cast<onnx::MatMulOp>(op))
      return MatmulOperands{matmul.getA(), matmul.getB(), Value(), matmul.getTransA(), matmul.getTransB()};
    if (auto gemm = dyn_cast<onnx::GemmOp>(op))
      return MatmulOperands{gemm.getA(),      gemm.getB(),      gemm.getC(),
                            gemm.getTransA(), gemm.getTransB(), gemm.getAlpha().convertToFloat() != 1};
    return std::nullopt;
  }

  bool isSumOverRows() const {
    return transA && !transB && !c && !scales && typeOf(a).getRank() == 2 && typeOf(b).getRank() == 2;
  }

  /// A row of the result for each row of A, by one matrix for all.
  bool isRowwise() const {
    return !transA && typeOf(b).getRank() == 2 && typeOf(a).getRank() >= 2 &&
           (!c || typeOf(c).getNumElements() == lastDim(c));
  }
};

} // namespace

bool LogitsRegion::mayStart(Operation *op, int64_t bytes) {
  auto product = MatmulOperands::of(op);
  if (!product || !product->isRowwise())
    return false;
  RankedTensorType type = typeOf(op->getResult(0));
  return type.getElementType().isFloat() &&
         type.getNumElements() * type.getElementTypeBitWidth() / 8 > bytes &&
         type.getShape().back() > 2 * lastDim(product->a);
}

std::optional<LogitsRegion> LogitsRegion::from(Operation *product) {
  LogitsRegion region;
  RankedTensorType type = typeOf(product->getResult(0));
  region.width = type.getShape().back();
  region.rows = type.getNumElements() / region.width;
  region.bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  region.addRowOperand(MatmulOperands::of(product)->a, false);
  region.take(product, Role::Logits);
  // In the block's order every producer of logits comes before its readers.
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode())
    if (llvm::any_of(op->getOperands(), [&](Value v) { return region.isLogits(v); }) && !region.grow(op))
      return std::nullopt;
  return region;
}

bool LogitsRegion::take(Operation *op, Role role) {
  ops.push_back(op);
  for (Value result : op->getResults())
    roles[result] = role;
  return true;
}

bool LogitsRegion::addRowOperand(Value value, bool isVector) {
  if (typeOf(value).getNumElements() % rows != 0 || (isVector && typeOf(value).getNumElements() != rows) ||
      (!isVector && typeOf(value).getNumElements() / rows != lastDim(value)) ||
      (rowOperands.contains(value) && vectors.contains(value) != isVector))
    return false;
  if (roleOf(value) != Role::None)
    return roleOf(value) == Role::Rows;
  rowOperands.insert(value);
  if (isVector)
    vectors.insert(value);
  return true;
}

bool LogitsRegion::growMatmul(Operation *op) {
  MatmulOperands product = *MatmulOperands::of(op);
  if (isLogits(product.a) && !isLogits(product.b)) {
    if (product.isRowwise() && isWhole(product.b))
      return take(op, Role::Rows);
    return product.isSumOverRows() && addRowOperand(product.b, false) && take(op, Role::Sum);
  }
  return isLogits(product.b) && !isLogits(product.a) && product.isSumOverRows() &&
         addRowOperand(product.a, false) && take(op, Role::Sum);
}

bool LogitsRegion::grow(Operation *op) {
  if (MatmulOperands::of(op))
    return growMatmul(op);
  if (isa<onnx::ReshapeOp>(op))
    return lastDim(op->getResult(0)) == width && take(op, Role::Logits);
  if (auto add = dyn_cast<onnx::AddOp>(op)) {
    Value other = isLogits(add->getOperand(0)) ? add->getOperand(1) : add->getOperand(0);
    return !isLogits(other) && typeOf(other).getNumElements() == lastDim(other) && take(op, Role::Logits);
  }
  if (auto sum = dyn_cast<onnx::ReduceSumOp>(op)) {
    int64_t rank = typeOf(sum.getX()).getRank();
    return !sum.getKeepdims() && static_cast<int64_t>(sum.getAxes().size()) == rank - 1 &&
           !llvm::is_contained(sum.getAxes(), rank - 1) && take(op, Role::Sum);
  }
  if (auto loss = dyn_cast<train::CrossEntropyOp>(op))
    return static_cast<int64_t>(loss.getAxis()) == typeOf(loss.getLogits()).getRank() - 1 &&
           addRowOperand(loss.getLabels(), true) && take(op, Role::Rows);
  if (auto grad = dyn_cast<train::CrossEntropyGradOp>(op))
    return static_cast<int64_t>(grad.getAxis()) == typeOf(grad.getLogits()).getRank() - 1 &&
           roleOf(grad.getTop()) == Role::Rows && roleOf(grad.getTotal()) == Role::Rows &&
           addRowOperand(grad.getLabels(), true) && addRowOperand(grad.getGrad(), true) &&
           take(op, Role::Logits);
  if (auto function = dyn_cast<func::FuncOp>(op->getParentOp());
      function && op->hasTrait<OpTrait::IsTerminator>())
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &use) {
      return !isLogits(use.get()) ||
             train::bindingOfResult(function, use.getOperandNumber(), train::BindingKind::Output);
    });
  return false;
}

bool LogitsRegion::leaves(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return !contains(user); });
}

bool LogitsRegion::sumsInF32(Value sum) {
  Type element = typeOf(sum).getElementType();
  return element.isBF16() || element.isF16();
}

void LogitsRegion::collectHoisted(Value value, llvm::SetVector<Operation *> &hoisted, bool &possible) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->isBeforeInBlock(ops.front()) || hoisted.contains(op))
    return;
  possible &= !contains(op) && isMemoryEffectFree(op) && op->getNumRegions() == 0;
  if (!possible)
    return;
  for (Value operand : op->getOperands())
    collectHoisted(operand, hoisted, possible);
  hoisted.insert(op);
}

bool LogitsRegion::gatherOperands() {
  llvm::SetVector<Operation *> hoisted;
  bool possible = true;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (roleOf(operand) == Role::None)
        collectHoisted(operand, hoisted, possible);
  if (!possible)
    return false;
  for (Operation *op : hoisted)
    op->moveBefore(ops.front());
  return true;
}

SmallVector<Value> LogitsRegion::buildRows(OpBuilder &b, Operation *op, const IRMapping &mapping, Value sum) {
  Location loc = op->getLoc();
  auto in = [&](Value value) { return mapping.lookupOrDefault(value); };
  // A product that adds to its result. Separate additions would be fused with later ones, and all summands
  // would stay live.
  const bool isWide = roleOf(op->getResult(0)) == Role::Sum && sumsInF32(op->getResult(0));
  if (auto product = sum || isWide ? MatmulOperands::of(op) : std::nullopt)
    return {onnx::GemmOp::create(b, loc, in(product->a), in(product->b), sum, b.getBoolAttr(true),
                                 b.getBoolAttr(false), b.getF32FloatAttr(1), b.getF32FloatAttr(1),
                                 isWide ? b.getBoolAttr(true) : BoolAttr())};
  if (auto matmul = dyn_cast<onnx::MatMulOp>(op))
    return {onnx::MatMulOp::create(b, loc, in(matmul.getA()), in(matmul.getB()), matmul.getTransA(),
                                   matmul.getTransB())};
  if (auto gemm = dyn_cast<onnx::GemmOp>(op))
    return {onnx::GemmOp::create(b, loc, in(gemm.getA()), in(gemm.getB()), gemm.getC(), gemm.getTransAAttr(),
                                 gemm.getTransBAttr(), gemm.getAlphaAttr(), gemm.getBetaAttr(), BoolAttr())};
  if (isa<onnx::ReshapeOp>(op))
    return {in(op->getOperand(0))};
  if (auto add = dyn_cast<onnx::AddOp>(op)) {
    auto row = [&](Value value) -> Value {
      if (isLogits(value))
        return in(value);
      return onnx::ReshapeOp::create(b, loc, value, b.getDenseI64ArrayAttr({lastDim(value)}));
    };
    return {onnx::AddOp::create(b, loc, row(add->getOperand(0)), row(add->getOperand(1)))};
  }
  if (auto reduction = dyn_cast<onnx::ReduceSumOp>(op)) {
    Value x = in(reduction.getX());
    if (isWide)
      x = onnx::CastOp::create(b, loc, x, TypeAttr::get(b.getF32Type()));
    Value part = onnx::ReduceSumOp::create(b, loc, x, ArrayRef<int64_t>{0}, false);
    return {sum ? onnx::AddOp::create(b, loc, sum, part).getResult() : part};
  }
  if (auto loss = dyn_cast<train::CrossEntropyOp>(op)) {
    auto rowsOnly = train::CrossEntropyOp::create(b, loc, in(loss.getLogits()), in(loss.getLabels()),
                                                  b.getI64IntegerAttr(1), loss.getIgnoreIndexAttr(),
                                                  loss.getLabelSmoothingAttr());
    return {rowsOnly.getLosses(), rowsOnly.getTop(), rowsOnly.getTotal()};
  }
  auto grad = cast<train::CrossEntropyGradOp>(op);
  return {train::CrossEntropyGradOp::create(
      b, loc, in(grad.getLogits()), in(grad.getLabels()), in(grad.getTop()), in(grad.getTotal()),
      in(grad.getGrad()), b.getI64IntegerAttr(1), grad.getIgnoreIndexAttr(), grad.getLabelSmoothingAttr())};
}

} // namespace kedge::autodiff
