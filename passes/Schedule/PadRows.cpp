#include "lib/Dialect/Sched/SchedOps.h"
#include "lib/Support/Statistics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PADROWS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// Rows begin at multiples of 128 bytes of the narrowest type that is padded.
constexpr int64_t kMultiple = 64;
/// Matrix units load 16 bytes at once, all of them in one row.
constexpr int64_t kAccess = 16;
constexpr unsigned kResult = 2; ///< of a product, behind A and B

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t widthOf(Value value) { return tensorOf(value).getShape().back(); }

bool isProduct(Operation *op) {
  auto call = dyn_cast_or_null<sched::LibraryOp>(op);
  return call && (call.getKernel() == "onnx.MatMul" || call.getKernel() == "onnx.Gemm");
}

/// A value and its views that have rows of the same width.
struct Rows {
  SmallVector<Value> values;
  SmallVector<OpOperand *> operands; ///< of products
};

struct PadRows : impl::PadRowsBase<PadRows> {
  using Base::Base;
  int64_t padded = 0, bytes = 0;

  void runOnOperation() override {
    padded = bytes = 0;
    if (getOperation().isExternal())
      return;
    for (Operation &op : getOperation().getBody().front())
      if (isa<sched::ClusterOp>(op) || isProduct(&op))
        for (Value result : op.getResults())
          if (hasOddRows(result))
            if (std::optional<Rows> rows = rowsOf(result))
              pad(*rows);
    addStatistic("kedge-pad-rows", "values padded", padded);
    addStatistic("kedge-pad-rows", "bytes of padding", bytes);
  }

  bool hasOddRows(Value value) {
    RankedTensorType type = tensorOf(value);
    Type element = type.getElementType();
    return (element.isF32() || element.isF16() || element.isBF16()) && type.getRank() > 1 &&
           type.getShape().back() >= least && type.getNumElements() > 0 &&
           type.getShape().back() * type.getElementTypeBitWidth() / 8 % kAccess != 0;
  }

  /// Nothing where something reads the rows as if they were dense, or no product touches them.
  std::optional<Rows> rowsOf(Value value) {
    Rows rows;
    if (isProduct(value.getDefiningOp()) && !mayPad(value.getDefiningOp(), kResult))
      return std::nullopt;
    rows.values.push_back(value);
    for (size_t at = 0; at < rows.values.size(); ++at)
      for (OpOperand &use : rows.values[at].getUses())
        if (!take(use, rows))
          return std::nullopt;
    if (rows.operands.empty() && !isProduct(value.getDefiningOp()))
      return std::nullopt;
    return rows;
  }

  bool take(OpOperand &use, Rows &rows) {
    Operation *reader = use.getOwner();
    if (isa<sched::ClusterOp>(reader))
      return true; // its maps name rows and columns
    if (isProduct(reader) && use.getOperandNumber() < 2 && mayPad(reader, use.getOperandNumber())) {
      rows.operands.push_back(&use);
      return true;
    }
    auto view = dyn_cast<sched::ViewOp>(reader);
    if (!view || tensorOf(view.getResult()).getRank() < 2 ||
        widthOf(view.getResult()) != widthOf(use.get()) ||
        tensorOf(view.getResult()).getElementType() != tensorOf(use.get()).getElementType())
      return false;
    rows.values.push_back(view.getResult());
    return true;
  }

  /// One product, not a batch; a padded result gets a row added at most.
  static bool mayPad(Operation *op, unsigned operand) {
    auto call = cast<sched::LibraryOp>(op);
    if (tensorOf(call.getInputs()[1]).getRank() != 2 || tensorOf(call.getInputs()[0]).getRank() < 2 ||
        call.getAttrs().contains("unpack"))
      return false;
    auto transposed = call.getAttrs().getAs<BoolAttr>("transA");
    if (transposed && transposed.getValue() && tensorOf(call.getInputs()[0]).getRank() != 2)
      return false;
    auto isOne = [&](StringRef factor) {
      auto number = call.getAttrs().getAs<FloatAttr>(factor);
      return !number || number.getValueAsDouble() == 1;
    };
    return operand != kResult || call.getInputs().size() < 3 ||
           (tensorOf(call.getInputs()[2]).getNumElements() == widthOf(call.getResult(0)) && isOne("alpha") &&
            isOne("beta"));
  }

  void pad(const Rows &rows) {
    Value first = rows.values.front();
    const int64_t width = widthOf(first), wide = llvm::alignTo(width, kMultiple);
    if (isProduct(first.getDefiningOp()))
      noteWidth(cast<sched::LibraryOp>(first.getDefiningOp()), kResult, width);
    for (OpOperand *operand : rows.operands)
      noteWidth(cast<sched::LibraryOp>(operand->getOwner()), operand->getOperandNumber(), width);
    bytes += tensorOf(first).getNumElements() / width * (wide - width) *
             tensorOf(first).getElementTypeBitWidth() / 8;
    for (Value value : rows.values) {
      SmallVector<int64_t> shape(tensorOf(value).getShape());
      shape.back() = wide;
      value.setType(tensorOf(value).clone(shape));
    }
    ++padded;
  }

  /// What of a row of A, B (operands 0 and 1) or the result (2) counts.
  static void noteWidth(sched::LibraryOp call, unsigned operand, int64_t width) {
    Builder b(call.getContext());
    NamedAttrList attrs(call.getAttrs());
    SmallVector<int64_t> widths{widthOf(call.getInputs()[0]), widthOf(call.getInputs()[1]),
                                widthOf(call.getResult(0))};
    if (auto known = call.getAttrs().getAs<DenseI64ArrayAttr>("widths"))
      widths.assign(known.asArrayRef().begin(), known.asArrayRef().end());
    widths[operand] = width;
    attrs.set("widths", b.getDenseI64ArrayAttr(widths));
    call.setAttrsAttr(attrs.getDictionary(call.getContext()));
  }
};
} // namespace
} // namespace kedge::schedule
