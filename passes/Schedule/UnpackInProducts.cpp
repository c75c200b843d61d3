#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "lib/Support/AttrJson.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_UNPACKINPRODUCTS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// A weight in few bits, and what its product is told of it.
struct Encoded {
  Value codes, zeroPoints, scales; ///< zero points may be none
  NamedAttrList description;
};

std::optional<Encoded> inFourBits(train::DequantizeOp op) {
  if (!llvm::isPowerOf2_64(op.getBlock()))
    return std::nullopt;
  Builder b(op.getContext());
  NamedAttrList description;
  description.set("format", b.getStringAttr(tune::stringifyFormat(op.getFormat())));
  description.set("block", b.getI64IntegerAttr(op.getBlock()));
  return Encoded{op.getCodes(), Value(), op.getAbsmax(), description};
}

/// Codes as numbers, times a scale for each row or column.
std::optional<Encoded> inEightBits(onnx::MulOp op) {
  auto numbers = op.getA().getDefiningOp<onnx::CastOp>();
  if (!numbers || !elementOf(numbers.getOperand()).isSignlessInteger(8) ||
      !elementOf(op.getResult()).isF32() || rankOf(op.getResult()) != 2 || rankOf(op.getB()) != 2 ||
      shapeOf(numbers.getOperand()) != shapeOf(op.getResult()))
    return std::nullopt;
  const ArrayRef<int64_t> whole = shapeOf(op.getResult()), scales = shapeOf(op.getB());
  const bool byRow = scales[0] == whole[0] && scales[1] == 1,
             byColumn = scales[0] == 1 && scales[1] == whole[1];
  if (!byRow && !byColumn)
    return std::nullopt;
  Builder b(op.getContext());
  NamedAttrList description;
  description.set("format", b.getStringAttr("int8"));
  description.set("axis", b.getI64IntegerAttr(byRow ? 0 : 1));
  return Encoded{numbers.getOperand(), Value(), op.getB(), description};
}

/// Codes of a model's file.
Encoded inBlocks(train::DequantizeBlocksOp op) {
  Builder b(op.getContext());
  NamedAttrList description;
  description.set("format", b.getStringAttr(tune::stringifyFormat(op.getFormat())));
  description.set("block", b.getI64IntegerAttr(op.getBlock()));
  description.set("axis", b.getI64IntegerAttr(op.getAxis()));
  if (op.getZeroPoints())
    description.set("zero_pitch", op.getZeroPitchAttr());
  else
    description.set("zero", op.getZeroAttr());
  return {op.getCodes(), op.getZeroPoints(), op.getScales(), description};
}

std::optional<Encoded> encodedBy(Operation &op) {
  if (auto blocks = dyn_cast<train::DequantizeBlocksOp>(op))
    return inBlocks(blocks);
  if (auto four = dyn_cast<train::DequantizeOp>(op))
    return inFourBits(four);
  if (auto eight = dyn_cast<onnx::MulOp>(op))
    return inEightBits(eight);
  return std::nullopt;
}

/// Whether the reader is a product, of which the value is the right operand alone.
bool isRightOfMatmul(OpOperand &use) {
  Operation *reader = use.getOwner();
  return isa<onnx::MatMulOp, onnx::GemmOp>(reader) && use.getOperandNumber() == 1 &&
         llvm::count(reader->getOperands(), use.get()) == 1 && rankOf(reader->getOperand(0)) >= 2 &&
         !llvm::is_contained(shapeOf(reader->getOperand(0)), 0);
}

bool isRounding(Operation *op) {
  auto cast = dyn_cast<onnx::CastOp>(op);
  return cast && (elementOf(cast.getResult()).isBF16() || elementOf(cast.getResult()).isF16());
}

/// The products that read the values, as they are or rounded; none where something else reads them, too.
SmallVector<Operation *> productsOf(Value values) {
  SmallVector<Operation *> found;
  for (OpOperand &use : values.getUses()) {
    if (isRightOfMatmul(use)) {
      found.push_back(use.getOwner());
      continue;
    }
    if (!isRounding(use.getOwner()))
      return {};
    for (OpOperand &rounded : use.getOwner()->getResult(0).getUses()) {
      if (!isRightOfMatmul(rounded))
        return {};
      found.push_back(rounded.getOwner());
    }
  }
  return found;
}

struct UnpackInProducts : impl::UnpackInProductsBase<UnpackInProducts> {
  int64_t products = 0;

  void run() override {
    products = 0;
    if (getOperation().isExternal())
      return;
    SmallVector<Operation *> weights;
    for (Operation &op : getOperation().getBody().front())
      if (op.getNumResults() == 1 && encodedBy(op) && rankOf(op.getResult(0)) == 2 &&
          cast<RankedTensorType>(op.getResult(0).getType()).getNumElements() > 0)
        weights.push_back(&op);
    for (Operation *weight : weights)
      for (Operation *product : productsOf(weight->getResult(0)))
        unpackIn(product, *encodedBy(*weight));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(getOperation().getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    addStatistic("products", products);
  }

  void unpackIn(Operation *product, Encoded weight) {
    PlacedBuilder builder(product);
    sched::LibraryOp whole = buildLibraryCall(builder, product);
    auto values = cast<RankedTensorType>(product->getOperand(1).getType());
    weight.description.set("shape", builder.getDenseI64ArrayAttr(values.getShape()));
    weight.description.set("type", builder.getStringAttr(dtypeName(values.getElementType())));
    NamedAttrList attrs(whole.getAttrs());
    attrs.set("unpack", weight.description.getDictionary(&getContext()));
    SmallVector<Value> inputs(whole.getInputs());
    inputs[1] = weight.codes;
    if (weight.zeroPoints)
      inputs.push_back(weight.zeroPoints);
    inputs.push_back(weight.scales);
    auto call = sched::LibraryOp::create(builder, product->getLoc(), whole->getResultTypes(),
                                         whole.getKernel(), inputs, attrs.getDictionary(&getContext()),
                                         IntegerAttr(), whole.getCollective(), StringAttr());
    whole.erase();
    copyValueNotes(product, call);
    product->replaceAllUsesWith(call);
    product->erase();
    ++products;
  }
};
} // namespace
} // namespace kedge::schedule
