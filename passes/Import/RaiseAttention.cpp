#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/MaskMatcher.h"
#include "passes/Import/MatchAttention.h"
#include "passes/Import/MatchUtils.h"
#include "passes/Import/Passes.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct RaiseAttention : impl::RaiseAttentionBase<RaiseAttention> {
  int64_t attentions = 0, causalMasks = 0, dropouts = 0, repeatsUndone = 0;

  void run() override {
    SmallVector<Operation *> roots;
    getOperation().walk([&](Operation *op) {
      if (isa<MatMulOp, train::AttentionOp>(op))
        roots.push_back(op);
    });
    CompactEvaluator evaluator;
    for (Operation *root : roots) {
      AttentionMatch match;
      auto whole = dyn_cast<train::AttentionOp>(root);
      if (whole ? matchAttention(whole, match) : matchAttention(cast<MatMulOp>(root), match))
        raise(root, match, evaluator);
    }
    eraseDead(getOperation());
    addStatistic("attentions", attentions);
    addStatistic("causal masks", causalMasks);
    addStatistic("dropouts", dropouts);
    addStatistic("repeats undone", repeatsUndone);
  }

  /// Replaces the output of `root`, and its log-sum-exp when it is an attention already.
  void raise(Operation *root, const AttentionMatch &match, CompactEvaluator &evaluator) {
    PlacedBuilder builder(root);
    MaskMatcher mask(evaluator, builder, root->getLoc());
    mask.causalOffset = match.causalOffset;
    for (const AttentionMatch::Mask &part : match.masks) {
      Value value = part.value;
      if (part.inverse)
        value = NotOp::create(builder, root->getLoc(), value);
      if (!(part.isBool ? mask.addBool(value) : mask.addFloat(value)))
        return;
    }
    Value result = root->getResult(0);
    auto transposed = dyn_cast_or_null<TransposeOp>(onlyUser(result));
    bool foldsOutput = transposed && transposed.getPerm() == ArrayRef<int64_t>{0, 2, 1, 3};
    if (foldsOutput)
      result = transposed.getTransposed();
    auto attention = train::AttentionOp::create(
        builder, root->getLoc(), match.q.value, match.k.value, match.v.value, mask.operand(),
        /*random=*/ValueRange(), APFloat(match.scale), mask.causalOffset.has_value(),
        mask.causalOffset.value_or(0), APFloat(match.softcap), match.q.layout(), match.k.layout(),
        match.v.layout(),
        foldsOutput != match.outputBthd ? train::AttentionLayout::BTHD : train::AttentionLayout::BHTD,
        APFloat(match.dropoutRatio), match.dropoutId,
        /*row_size=*/1, /*training_mode=*/match.dropoutRatio > 0);
    result.replaceAllUsesWith(attention.getO());
    if (isa<train::AttentionOp>(root))
      root->getResult(1).replaceAllUsesWith(attention.getLSE());
    ++attentions;
    causalMasks += mask.causalOffset.has_value();
    dropouts += match.dropoutRatio > 0;
    repeatsUndone += match.k.repeats > 1;
  }
};
} // namespace
} // namespace kedge::raise
