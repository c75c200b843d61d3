#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Sched/CallProperties.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PACKATTENTION
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

Value withoutViews(Value value) {
  while (auto view = value.getDefiningOp<sched::ViewOp>())
    value = view.getInput();
  return value;
}

template <typename OpT> sched::LibraryOp callOf(Operation *op) {
  auto call = dyn_cast_or_null<sched::LibraryOp>(op);
  return call && call.calls<OpT>() ? call : sched::LibraryOp();
}

/// `OpT`: Split or Concat.
template <typename OpT> bool isAlongLast(sched::LibraryOp call, Value whole) {
  IntegerAttr axis = sched::propertiesOf<OpT>(call).axis;
  return axis &&
         (axis.getInt() == cast<RankedTensorType>(whole.getType()).getRank() - 1 || axis.getInt() == -1);
}

/// Whether Q, K and V are [batch, token, head, depth].
template <typename OpT> bool isTokenMajor(sched::LibraryOp attention) {
  const auto told = sched::propertiesOf<OpT>(attention);
  return llvm::all_of(
      ArrayRef<StringAttr>{told.q_layout, told.k_layout, told.v_layout}, [](StringAttr layout) {
        return layout && train::symbolizeAttentionLayout(layout.getValue()) == train::AttentionLayout::BTHD;
      });
}

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Q, K and V of one projection.
struct Packed {
  Value projection;
  int64_t queryHeads, keyHeads;
};

/// Whether operands `first` to `first` + 2 of an attention are the parts of one 16-bit projection, in order.
std::optional<Packed> packedOperands(sched::LibraryOp attention, unsigned first) {
  sched::LibraryOp split;
  for (unsigned part = 0; part < 3; ++part) {
    auto result = dyn_cast<OpResult>(withoutViews(attention.getInputs()[first + part]));
    auto from = result ? callOf<onnx::SplitOp>(result.getOwner()) : sched::LibraryOp();
    if (!from || result.getResultNumber() != part || (split && from != split) || from->getNumResults() != 3)
      return std::nullopt;
    split = from;
  }
  Value projection = split.getInputs()[0];
  RankedTensorType q = typeOf(attention.getInputs()[first]), k = typeOf(attention.getInputs()[first + 1]),
                   v = typeOf(attention.getInputs()[first + 2]), all = typeOf(projection);
  const bool isForward = attention.calls<train::AttentionOp>();
  const bool reads = isForward ? isTokenMajor<train::AttentionOp>(attention)
                               : isTokenMajor<train::AttentionGradOp>(attention);
  bool isHalf = all.getElementType().isBF16() || all.getElementType().isF16();
  if (!isHalf || all.getRank() != 3 || q.getRank() != 4 || k != v || !reads ||
      !isAlongLast<onnx::SplitOp>(split, projection))
    return std::nullopt;
  // Of one batch, one length, one depth.
  for (RankedTensorType part : {q, k})
    if (part.getDimSize(0) != all.getDimSize(0) || part.getDimSize(1) != all.getDimSize(1) ||
        part.getDimSize(3) != q.getDimSize(3))
      return std::nullopt;
  return Packed{projection, q.getDimSize(2), k.getDimSize(2)};
}

/// The attributes of the call on the projection, whose operands `first` to `first` + 2 are one.
DictionaryAttr packedAttributes(sched::LibraryOp call, const Packed &packed, unsigned first) {
  Builder b(call.getContext());
  NamedAttrList attrs(call.getAttrs());
  attrs.set("packed", b.getBoolAttr(true));
  attrs.set("q_num_heads", b.getI64IntegerAttr(packed.queryHeads));
  attrs.set("kv_num_heads", b.getI64IntegerAttr(packed.keyHeads));
  for (StringRef name : {"q_layout", "k_layout", "v_layout"})
    attrs.erase(name);
  if (auto given = call.getAttrs().getAs<DenseBoolArrayAttr>("operands")) {
    SmallVector<bool> operands(given.asArrayRef());
    operands.erase(operands.begin() + first + 1, operands.begin() + first + 3);
    attrs.set("operands", b.getDenseBoolArrayAttr(operands));
  }
  return attrs.getDictionary(call.getContext());
}

/// The operator that puts the three gradients side by side, when nothing else reads them.
sched::LibraryOp joined(sched::LibraryOp gradient, Value projection) {
  sched::LibraryOp concat;
  for (auto [number, result] : llvm::enumerate(gradient.getOutputs())) {
    Value last = result;
    while (last.hasOneUse() && isa<sched::ViewOp>(*last.user_begin()))
      last = cast<sched::ViewOp>(*last.user_begin()).getResult();
    if (!last.hasOneUse() || last.use_begin()->getOperandNumber() != number)
      return {};
    auto reader = callOf<onnx::ConcatOp>(*last.user_begin());
    if (!reader || (concat && reader != concat))
      return {};
    concat = reader;
  }
  bool fits = concat && concat.getInputs().size() == 3 &&
              concat.getOutputs()[0].getType() == projection.getType() &&
              isAlongLast<onnx::ConcatOp>(concat, projection);
  return fits ? concat : sched::LibraryOp();
}

struct PackAttention : impl::PackAttentionBase<PackAttention> {
  void run() override {
    packed = 0;
    // Packing erases calls of other kernels.
    SmallVector<sched::LibraryOp> calls;
    getOperation().walk([&](sched::LibraryOp call) {
      if (call.callsAny<train::AttentionOp, train::AttentionGradOp>())
        calls.push_back(call);
    });
    for (sched::LibraryOp call : calls)
      if (call.calls<train::AttentionOp>())
        packForward(call);
      else
        packBackward(call);
    // Splits, and views of their parts, that nothing reads any more.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(getOperation().getBody().front())))
      if (op.use_empty() && (isa<sched::ViewOp>(op) || callOf<onnx::SplitOp>(&op)))
        op.erase();
    addStatistic("calls packed", packed);
  }

  sched::LibraryOp replaced(sched::LibraryOp call, const Packed &operands, unsigned first,
                            TypeRange results) {
    SmallVector<Value> inputs(call.getInputs());
    inputs[first] = operands.projection;
    inputs.erase(inputs.begin() + first + 1, inputs.begin() + first + 3);
    PlacedBuilder b(call, placeOf(call));
    ++packed;
    return sched::LibraryOp::create(b, call.getLoc(), results, call.getKernel(), inputs,
                                    packedAttributes(call, operands, first), call.getCloneAttr(),
                                    call.getCollective(), call.getRecomputedAttr());
  }

  void packForward(sched::LibraryOp call) {
    auto operands = packedOperands(call, 0);
    if (!operands)
      return;
    call->replaceAllUsesWith(replaced(call, *operands, 0, call->getResultTypes()));
    call.erase();
  }

  void packBackward(sched::LibraryOp call) {
    auto operands = packedOperands(call, 1);
    sched::LibraryOp concat = operands ? joined(call, operands->projection) : sched::LibraryOp();
    Type element = operands ? typeOf(operands->projection).getElementType() : Type();
    if (!concat || typeOf(call.getInputs()[0]).getElementType() != element ||
        typeOf(call.getInputs()[4]).getElementType() != element)
      return;
    concat.replaceAllUsesWith(replaced(call, *operands, 1, operands->projection.getType()));
    concat.erase();
    eraseWithViews(call);
  }

  static void eraseWithViews(Operation *op) {
    for (Operation *user : llvm::to_vector(op->getUsers()))
      eraseWithViews(user);
    op->erase();
  }

  int64_t packed = 0;
};

} // namespace
} // namespace kedge::schedule
