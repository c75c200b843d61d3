#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Import/MaskMatcher.h"
#include "passes/Import/MatchAttention.h"
#include "passes/Import/MatchUtils.h"
#include "passes/Import/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct RaiseAttention : impl::RaiseAttentionBase<RaiseAttention> {
  using Base::Base;

  int64_t attentions = 0, bandMasks = 0, dropouts = 0, repeatsUndone = 0;

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
    addStatistic("band masks", bandMasks);
    report();
    addStatistic("dropouts", dropouts);
    addStatistic("repeats undone", repeatsUndone);
  }

  /// Replaces the output of `root`, and its log-sum-exp when it is an attention already.
  void raise(Operation *root, const AttentionMatch &match, CompactEvaluator &evaluator) {
    PlacedBuilder builder(root);
    MaskMatcher mask(evaluator, builder, root->getLoc(), match.visible, keepMasks);
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
    Value given = mask.operand(), sinks = match.sinks;
    if (sinks && rankOf(sinks) != 1)
      sinks = ReshapeOp::create(builder, root->getLoc(), sinks, ArrayRef<int64_t>{match.q.heads()});
    auto attention = train::AttentionOp::create(
        builder, root->getLoc(), match.q.value, match.k.value, match.v.value, given,
        /*random=*/ValueRange(), match.documents, /*places=*/Value(), sinks, APFloat(match.scale),
        mask.visible.attribute(&getContext()), APFloat(match.softcap), match.q.layout(), match.k.layout(),
        match.v.layout(),
        foldsOutput != match.outputBthd ? train::AttentionLayout::BTHD : train::AttentionLayout::BHTD,
        APFloat(match.dropoutRatio), match.dropoutId,
        /*row_size=*/1, /*training_mode=*/match.dropoutRatio > 0);
    result.replaceAllUsesWith(attention.getO());
    if (isa<train::AttentionOp>(root))
      root->getResult(1).replaceAllUsesWith(attention.getLSE());
    ++attentions;
    bandMasks += mask.bands;
    if (given && isSquare(attention)) {
      Reading &reading = readings[match.masks.front().value];
      reading.type = cast<RankedTensorType>(given.getType());
      reading.isKnown = evaluator.evaluate(given) != nullptr;
      reading.at = reading.at ? reading.at : attention;
      ++reading.attentions;
    }
    dropouts += match.dropoutRatio > 0;
    repeatsUndone += match.k.repeats > 1;
  }

  /// Attentions that read one mask with an element for each query and key.
  struct Reading {
    RankedTensorType type;
    bool isKnown = false;
    train::AttentionOp at; ///< the first
    int64_t attentions = 0;
  };
  llvm::MapVector<Value, Reading> readings;

  static bool isSquare(train::AttentionOp attention) {
    ArrayRef<int64_t> shape = shapeOf(attention.getMask());
    const int64_t queries = shapeOf(attention.getLSE())[2];
    return shape.size() >= 2 && queries > 1 && shape[shape.size() - 2] == queries && shape.back() > 1;
  }

  void report() {
    for (Reading &reading : llvm::make_second_range(readings))
      emitRemark(reading.at.getLoc())
          << "reads a mask of " << reading.type << ", " << bytesOf(reading.type)
          << " bytes, element by element"
          << (reading.attentions > 1 ? " (" + std::to_string(reading.attentions) + " attentions read it)"
                                     : "")
          << ": its values are "
          << (reading.isKnown ? "neither causal nor a window" : "not known when compiling");
    addStatistic("tensor masks", static_cast<int64_t>(readings.size()));
  }
};
} // namespace
} // namespace kedge::raise
