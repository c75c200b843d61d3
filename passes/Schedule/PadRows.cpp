#include "lib/Analysis/MatmulCall.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PADROWS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using analysis::MatmulCall;

/// Rows begin at multiples of 128 bytes of the narrowest type that is padded.
constexpr int64_t kMultiple = 64;
/// Matrix units load 16 bytes at once, all of them in one row.
constexpr int64_t kAccess = 16;
constexpr unsigned kResult = 2; ///< of a product, behind A and B

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t widthOf(Value value) { return tensorOf(value).getShape().back(); }

bool isMatmul(Operation *op) { return MatmulCall::of(op).has_value(); }

/// A value and its views that have rows of the same width.
struct Rows {
  SmallVector<Value> values;
  SmallVector<OpOperand *> operands; ///< of products
};

struct PadRows : impl::PadRowsBase<PadRows> {
  using Base::Base;
  int64_t padded = 0, bytes = 0;

  void run() override {
    padded = bytes = 0;
    if (getOperation().isExternal())
      return;
    for (Operation &op : getOperation().getBody().front())
      if (isa<sched::ClusterOp>(op) || isMatmul(&op))
        for (Value result : op.getResults())
          if (hasOddRows(result))
            if (std::optional<Rows> rows = rowsOf(result))
              pad(*rows);
    addStatistic("values padded", padded);
    addStatistic("bytes of padding", bytes);
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
    const auto producer = MatmulCall::of(value.getDefiningOp());
    if (producer && !mayPad(*producer, kResult))
      return std::nullopt;
    rows.values.push_back(value);
    for (size_t at = 0; at < rows.values.size(); ++at)
      for (OpOperand &use : rows.values[at].getUses())
        if (!take(use, rows))
          return std::nullopt;
    if (rows.operands.empty() && !producer)
      return std::nullopt;
    return rows;
  }

  bool take(OpOperand &use, Rows &rows) {
    Operation *reader = use.getOwner();
    if (isa<sched::ClusterOp>(reader))
      return true; // its maps name rows and columns
    const auto product = MatmulCall::of(reader);
    if (product && use.getOperandNumber() < kResult && mayPad(*product, use.getOperandNumber())) {
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
  static bool mayPad(const MatmulCall &product, unsigned tensor) {
    const int64_t rankOfA = tensorOf(product.a()).getRank();
    if (tensorOf(product.b()).getRank() != 2 || rankOfA < 2 || product.unpacksB() ||
        (product.transA() && rankOfA != 2))
      return false;
    return tensor != kResult || !product.hasC() ||
           (tensorOf(product.c()).getNumElements() == widthOf(product.y()) && product.alpha() == 1 &&
            product.beta() == 1);
  }

  void pad(const Rows &rows) {
    Value first = rows.values.front();
    const int64_t width = widthOf(first), wide = llvm::alignTo(width, kMultiple);
    if (auto producer = MatmulCall::of(first.getDefiningOp()))
      producer->setWidth(kResult, width);
    for (OpOperand *operand : rows.operands)
      MatmulCall::of(operand->getOwner())->setWidth(operand->getOperandNumber(), width);
    bytes += tensorOf(first).getNumElements() / width * (wide - width) *
             tensorOf(first).getElementTypeBitWidth() / 8;
    for (Value value : rows.values) {
      SmallVector<int64_t> shape(tensorOf(value).getShape());
      shape.back() = wide;
      value.setType(tensorOf(value).clone(shape));
    }
    ++padded;
  }
};
} // namespace
} // namespace kedge::schedule
