#include "passes/Mesh/Experts/ExpertDim.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kedge::mesh {
namespace {
using Need = std::optional<ExpertNeed>;

Need part(ExpertDim at) { return ExpertNeed{ExpertNeed::Part, at}; }
Need whole() { return ExpertNeed{}; }

int64_t elementsBefore(ArrayRef<int64_t> shape, int64_t dim) { return elementCount(shape.take_front(dim)); }
int64_t elementsBehind(ArrayRef<int64_t> shape, int64_t dim) {
  return elementCount(shape.drop_front(dim + 1));
}

/// In the same elements as `to` has them.
Need reshaped(ArrayRef<int64_t> from, ExpertDim at, ArrayRef<int64_t> to) {
  const int64_t outer = elementsBefore(from, at.dim) * at.outer,
                inner = elementsBehind(from, at.dim) * at.inner;
  for (int64_t dim = 0; dim < static_cast<int64_t>(to.size()); ++dim) {
    const int64_t before = elementsBefore(to, dim), behind = elementsBehind(to, dim);
    if (outer % before == 0 && inner % behind == 0 &&
        outer / before * at.experts * (inner / behind) == to[dim])
      return part({at.experts, dim, outer / before, inner / behind});
  }
  return std::nullopt;
}

Need ofElements(OpOperand &operand, ExpertDim at) {
  ArrayRef<int64_t> result = shapeOf(operand.getOwner()->getResult(0)), own = shapeOf(operand.get());
  const int64_t dim = at.dim - static_cast<int64_t>(result.size() - own.size());
  if (dim < 0 || own[dim] == 1)
    return whole();
  return part(at.moved(dim));
}

/// A vector with a number for `each` elements, of which a rank has `ofRank`.
Need inOrder(OpOperand &operand, int64_t ofRank, int64_t each, const dist::RankGroup &group) {
  if (ofRank % each != 0 || rankOf(operand.get()) != 1)
    return std::nullopt;
  return part({group.ranks, 0, 1, ofRank / each});
}

Need ofFourBits(train::DequantizeOp op, OpOperand &operand, const dist::RankGroup &group) {
  const int64_t ofRank = elementCount(shapeOf(op.getResult())) / group.ranks, block = op.getBlock();
  if (ofRank % block != 0)
    return std::nullopt;
  const Need need = inOrder(operand, ofRank, operand.getOperandNumber() == 0 ? 2 : block, group);
  // Numbers that are in few bits themselves, in blocks across the borders of ranks.
  if (auto sum = op.getAbsmax().getDefiningOp(); need && sum && operand.get() == op.getAbsmax())
    for (Value term : sum->getOperands())
      if (auto scaled = term.getDefiningOp<train::ScaleBlocksOp>();
          scaled && ofRank / block % scaled.getBlock() != 0)
        return ExpertNeed{ExpertNeed::PartOfWhole, need->at};
  return need;
}

Need ofBlocks(train::DequantizeBlocksOp op, OpOperand &operand, ExpertDim at, const dist::RankGroup &group) {
  const int64_t ranks = group.ranks, bits = tune::bitsOf(op.getFormat());
  const int64_t rows = shapeOf(op.getResult())[0] / ranks, scales = shapeOf(op.getScales())[0];
  if (at.dim != 0 || at.outer != 1 || scales % ranks != 0 || (op.getAxis() == 0 && rows % op.getBlock() != 0))
    return std::nullopt;
  if (operand.get() == op.getScales())
    return part({ranks, 0, 1, scales / ranks});
  const int64_t codes = operand.get() == op.getCodes()
                            ? rows * shapeOf(op.getResult())[1]
                            : scales / ranks * static_cast<int64_t>(op.getZeroPitch());
  return inOrder(operand, codes, 8 / bits, group);
}
} // namespace

RankedTensorType ExpertDim::partOf(Type whole, const dist::RankGroup &group) const {
  SmallVector<int64_t> shape(cast<RankedTensorType>(whole).getShape());
  shape[dim] /= group.ranks;
  return cast<RankedTensorType>(whole).clone(shape);
}

dist::CutAttr ExpertDim::cutOf(Type whole, const dist::RankGroup &group) const {
  const int64_t size = cast<RankedTensorType>(whole).getDimSize(dim);
  const SmallVector<int64_t> sections(outer > 1 ? outer : 0, size / outer);
  return dist::CutAttr::get(whole.getContext(), dim, group.axis, group.ranks, sections, 1);
}

std::optional<ExpertNeed> needOf(OpOperand &operand, ExpertDim at, const dist::RankGroup &group) {
  Operation *op = operand.getOwner();
  if (op->getNumResults() != 1)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Need>(op)
      .Case([&](onnx::ReshapeOp reshape) {
        return reshaped(shapeOf(reshape.getReshaped()), at, shapeOf(operand.get()));
      })
      .Case([&](onnx::TransposeOp transpose) { return part(at.moved(transpose.getPerm()[at.dim])); })
      .Case([&](train::DequantizeOp four) {
        return at.dim == 0 && at.outer == 1 ? ofFourBits(four, operand, group) : Need();
      })
      .Case([&](train::DequantizeBlocksOp blocks) { return ofBlocks(blocks, operand, at, group); })
      .Case([&](train::ScaleBlocksOp scaled) {
        const int64_t ofRank = shapeOf(scaled.getResult())[0] / group.ranks;
        return inOrder(operand, ofRank, operand.getOperandNumber() == 0 ? 1 : scaled.getBlock(), group);
      })
      .Case([&](onnx::GatherOp gather) { // numbers of a table
        return operand.getOperandNumber() == 0                          ? whole()
               : gather.getAxis() == 0 && rankOf(gather.getData()) == 1 ? part(at)
                                                                        : Need();
      })
      .Default([&](Operation *other) {
        return other->hasTrait<ComputesEachElement>() ? ofElements(operand, at) : Need();
      });
}

void makePart(Operation *op, ExpertDim at, const dist::RankGroup &group) {
  Value result = op->getResult(0);
  const RankedTensorType type = at.partOf(result.getType(), group);
  if (auto reshape = dyn_cast<onnx::ReshapeOp>(op))
    reshape.setShapeAttr(DenseI64ArrayAttr::get(op->getContext(), type.getShape()));
  if (op->hasAttr("whole"))
    op->setAttr("whole", TypeAttr::get(type));
  result.setType(type);
}

} // namespace kedge::mesh
