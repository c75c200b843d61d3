#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

bool kedge::train::takesEpilogue(Type type) {
  constexpr int64_t kElements = 8; // of 16 bits in 16 bytes
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  return (element.isBF16() || element.isF16()) && tensor.getRank() >= 2 && tensor.getNumElements() > 0 &&
         tensor.getShape().back() % kElements == 0;
}

bool kedge::train::addsTo(Type operand, Type sum) {
  return operand == sum ? sum.isF32() || sum.isF64() : sum.isF32() && (operand.isBF16() || operand.isF16());
}

bool AccumulateProductOp::hasKernelOn(TargetKind target) { return target == TargetKind::Cuda; }

LogicalResult AccumulateProductOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Value product = onnx::MatMulOp::create(builder, getLoc(), getA(), getB(), getTransA(), getTransB());
  Type sum = elementOf(getAccumulator());
  if (elementOf(product) != sum)
    product = onnx::CastOp::create(builder, getLoc(), product, TypeAttr::get(sum));
  results.push_back(AccumulateOp::create(builder, getLoc(), getAccumulator(), product, getMicro()));
  return success();
}

int AccumulateProductOp::addendInPlace(DictionaryAttr, TypeRange, bool) { return 2; }

int AddGatherGradOp::addendInPlace(DictionaryAttr, TypeRange, bool) { return 2; }

/// Sizes of a matrix as the product takes it.
static SmallVector<int64_t> dimsOf(Value matrix, bool transposed) {
  SmallVector<int64_t> shape(shapeOf(matrix));
  if (transposed)
    std::swap(shape.front(), shape.back());
  return shape;
}

LogicalResult SumProductsOp::verify() {
  const bool areMatrices = rankOf(getA()) == 2 && rankOf(getB()) == 2 && rankOf(getResult()) == 2;
  const bool areF32 =
      elementOf(getA()).isF32() && elementOf(getB()).isF32() && elementOf(getResult()).isF32();
  const auto parts = static_cast<int64_t>(getParts());
  if (areMatrices && areF32) {
    SmallVector<int64_t> a = dimsOf(getA(), getTransA()), b = dimsOf(getB(), getTransB());
    const bool fits = getChain() || (llvm::isPowerOf2_64(parts) && !getBackwards());
    if (parts > 1 && fits && a[1] > 0 && a[1] % parts == 0 && a[1] == b[0] &&
        shapeOf(getResult()) == ArrayRef<int64_t>{a[0], b[1]})
      return success();
  }
  return emitOpError("multiplies ") << getA().getType() << " by " << getB().getType() << " in " << parts
                                    << " parts; expected matrices of f32 whose terms share among a power of "
                                       "two, or among the parts of a chain";
}

constexpr int64_t kColumnsOfPanels = 32;

LogicalResult PackColumnsOp::verify() {
  if (rankOf(getB()) == 2 && elementOf(getB()).isF32() && elementOf(getPanels()).isF32()) {
    const SmallVector<int64_t> b = dimsOf(getB(), getTransB());
    if (shapeOf(getPanels()) ==
        ArrayRef<int64_t>{llvm::divideCeil(b[1], kColumnsOfPanels), b[0], kColumnsOfPanels})
      return success();
  }
  return emitOpError("packs ") << getB().getType() << " as " << getPanels().getType()
                               << "; expected a matrix of f32, and panels of 32 columns";
}

LogicalResult PackedProductOp::verify() {
  const bool areF32 = elementOf(getA()).isF32() && elementOf(getPanels()).isF32() &&
                      elementOf(getResult()).isF32() && (!getC() || elementOf(getC()).isF32());
  if (areF32 && rankOf(getA()) == 2 && rankOf(getPanels()) == 3 && rankOf(getResult()) == 2) {
    const int64_t rows = shapeOf(getA())[0], terms = shapeOf(getA())[1], columns = shapeOf(getResult())[1];
    const bool fitsC =
        !getC() || shapeOf(getC()) == shapeOf(getResult()) || shapeOf(getC()) == ArrayRef<int64_t>{columns};
    if (fitsC && shapeOf(getResult())[0] == rows &&
        shapeOf(getPanels()) ==
            ArrayRef<int64_t>{llvm::divideCeil(columns, kColumnsOfPanels), terms, kColumnsOfPanels})
      return success();
  }
  return emitOpError("multiplies ") << getA().getType() << " by panels " << getPanels().getType() << " to "
                                    << getResult().getType() << "; expected matrices of f32 that fit";
}

LogicalResult AccumulateProductOp::verify() {
  const Type element = elementOf(getA()), sum = elementOf(getAccumulator());
  const bool areMatrices = rankOf(getA()) == 2 && rankOf(getB()) == 2 && rankOf(getAccumulator()) == 2;
  SmallVector<int64_t> a = dimsOf(getA(), getTransA()), b = dimsOf(getB(), getTransB());
  if (!areMatrices || element != elementOf(getB()) || !addsTo(element, sum) ||
      getType() != getAccumulator().getType() || a[1] != b[0] ||
      shapeOf(getResult()) != ArrayRef<int64_t>{a[0], b[1]})
    return emitOpError("adds ")
           << getA().getType() << " times " << getB().getType() << " to " << getAccumulator().getType()
           << "; expected matrices of one type, and an accumulator of it, f32 or f64, or of f32 for 16 bits";
  return success();
}

/// All dims but the last.
static SmallVector<int64_t> rowDims(Value tensor) {
  return llvm::to_vector(llvm::seq<int64_t>(0, rankOf(tensor) - 1));
}

/// The sum of a tensor's rows: a number a column.
static Value sumOfRows(OpBuilder &builder, Location loc, Value tensor) {
  return onnx::ReduceSumOp::create(builder, loc, tensor, rowDims(tensor), /*keepdims=*/false);
}

bool FusedProductOp::hasKernelOn(TargetKind target) { return target == TargetKind::Cuda; }

LogicalResult FusedProductOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  const bool isGelu = getEpilogue() == Epilogue::Gelu, isGradient = getEpilogue() == Epilogue::GeluGrad;
  Value product = onnx::GemmOp::create(builder, getLoc(), getA(), getB(), isGelu ? getC() : Value(),
                                       getTransA(), getTransB(), APFloat(1.0f), APFloat(1.0f));
  Value y = product, summed = getEpilogue() == Epilogue::SumsA ? getA() : getB();
  if (isGelu)
    y = onnx::GeluOp::create(builder, getLoc(), product, onnx::Approximation::Tanh);
  if (isGradient)
    y = summed = GeluGradOp::create(builder, getLoc(), product, getC(), onnx::Approximation::Tanh);
  results.push_back(y);
  if (getZ())
    results.push_back(isGelu ? product : sumOfRows(builder, getLoc(), summed));
  return success();
}

/// The type of a number a column of `tensor`.
static Type columnType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return RankedTensorType::get(type.getShape().back(), type.getElementType());
}

/// What Z is, if it is there; null where the product does not sum over the rows of the epilogue's operand.
static Type typeOfZ(FusedProductOp op) {
  switch (op.getEpilogue()) {
  case Epilogue::Gelu:
    return op.getY().getType();
  case Epilogue::GeluGrad:
    return columnType(op.getY().getType());
  case Epilogue::SumsA:
    return op.getTransA() ? columnType(op.getA().getType()) : Type();
  case Epilogue::SumsB:
    return op.getTransB() ? Type() : columnType(op.getB().getType());
  }
  return {};
}

static bool takesC(FusedProductOp op) {
  Type c = op.getC() ? op.getC().getType() : Type();
  if (op.getEpilogue() == Epilogue::Gelu)
    return !c || c == columnType(op.getY().getType());
  return c == (op.getEpilogue() == Epilogue::GeluGrad ? Type(op.getY().getType()) : Type());
}

LogicalResult FusedProductOp::verify() {
  const Type z = typeOfZ(*this);
  const bool sums = getEpilogue() == Epilogue::SumsA || getEpilogue() == Epilogue::SumsB;
  if (!z || !takesC(*this) || (getZ() ? getZ().getType() != z : sums))
    return emitOpError("expected the epilogue gelu, gelu_grad, sums_a of a transposed A or sums_b of a B "
                       "that is not, with the C and "
                       "the second result that it takes");
  return success();
}
