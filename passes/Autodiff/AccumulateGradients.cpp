#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Support/FloatType.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/TreeSum.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;
using train::FunctionKind;

struct AccumulateGradients : impl::AccumulateGradientsBase<AccumulateGradients> {
  using Base::Base;

  void run() override {
    Type element = floatTypeNamed(&getContext(), type);
    if (!type.empty() && !element) {
      getOperation().emitError() << "unknown type '" << type.getValue()
                                 << "' of accumulators: expected fp32, bf16 or fp16";
      return signalPassFailure();
    }
    func::FuncOp micro = train::functionOf(getOperation(), FunctionKind::Micro);
    if (!micro || train::isOfTrainingInfo(micro))
      return;
    accumulateIn(micro, element);
    eraseUnused(micro);
  }

  void accumulateIn(func::FuncOp microFunction, Type element) {
    SmallVector<Trained> gradientsOfMicro = takeGradients(microFunction);
    BoundFunction micro(microFunction), update(makeUpdate(microFunction));
    PlacedBuilder builder(returnOf(microFunction), PlaceAttr());
    Value index =
        micro.argument(BindingKind::Scalar, "micro", RankedTensorType::get({}, builder.getI64Type()));
    // A pipeline's step knows its micro-batches, and makes the tree when it is unrolled.
    const bool isUnrolled = dist::pipelineGroup(getOperation()).ranks > 1;
    const int64_t parts = isUnrolled ? 1 : std::max<int64_t>(1, dist::ownPartsOf(getOperation()));
    TreeSum tree(micro, index, parts, accumulate / parts);
    int64_t gradients = 0, bytes = 0;
    for (auto [state, gradient] : gradientsOfMicro) {
      train::StateOp accumulator = makeStateOf(state, train::Role::Accumulator, "accumulator");
      auto ofParameter = cast<RankedTensorType>(accumulator.getType());
      if (element && !ofParameter.getElementType().isF64())
        accumulator.setTypeAttr(TypeAttr::get(ofParameter.clone(element)));
      StringRef name = accumulator.getSymName();
      PlaceAttr place = placeOfProducer(gradient);
      builder.enter(place ? place : updateOf(state));
      Value before = micro.argument(BindingKind::State, name, accumulator.getType());
      Value sum =
          parts > 1 ? tree.add(builder, state, accumulator, gradient, before)
          : isOneMicroBatch() && !isUnrolled
              ? castTo(builder, gradient, before.getType())
              : train::AccumulateOp::create(builder, gradient.getLoc(), before, gradient, index).getResult();
      micro.addResult(sum, BindingKind::State, name);
      Value whole = update.argument(BindingKind::State, name, accumulator.getType());
      update.addResult(whole, BindingKind::Gradient, state.getSymName());
      ++gradients;
      bytes += bytesOf(accumulator.getType());
    }
    addStatistic("accumulators", gradients);
    addStatistic("state bytes", bytes);
  }

  /// There is nothing to add: the gradients of a rank's only part, or of all its parts together.
  bool isOneMicroBatch() { return accumulate == 1 && dist::partsOf(getOperation()) > 0; }

  static Value castTo(OpBuilder &builder, Value gradient, Type type) {
    if (gradient.getType() == type)
      return gradient;
    return onnx::CastOp::create(builder, gradient.getLoc(), gradient,
                                TypeAttr::get(cast<RankedTensorType>(type).getElementType()));
  }

  func::FuncOp makeUpdate(func::FuncOp micro) {
    OpBuilder builder(micro);
    builder.setInsertionPointAfter(micro);
    auto update = func::FuncOp::create(builder, micro.getLoc(), "update", builder.getFunctionType({}, {}));
    train::setKind(update, FunctionKind::Update);
    builder.setInsertionPointToStart(update.addEntryBlock());
    func::ReturnOp::create(builder, micro.getLoc());
    return update;
  }

  PlaceAttr updateOf(train::StateOp state) {
    return PlaceAttr::get(&getContext(), TrainingPhase::Update, "",
                          state.getOnnxName().value_or(state.getSymName()));
  }
};
} // namespace
} // namespace kedge::autodiff
