#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/abi/ExpertNames.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_COUNTEXPERTS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;
using train::FunctionKind;

struct CountExperts : impl::CountExpertsBase<CountExperts> {
  using Base::Base;

  void run() override {
    func::FuncOp function = getOperation();
    const std::optional<FunctionKind> kind = train::kindOf(function);
    if (kind != FunctionKind::Step && kind != FunctionKind::Micro)
      return;
    const SmallVector<train::ExpertLayer> layers = train::expertLayers(function);
    for (const train::ExpertLayer &layer : layers)
      count(function, layer);
    addStatistic("layers", static_cast<int64_t>(layers.size()));
  }

  void count(func::FuncOp function, const train::ExpertLayer &layer) {
    train::GroupedMatmulOp product = layer.product;
    PlacedBuilder builder(product);
    const Location loc = product.getLoc();
    Value counts = train::countChosen(builder, loc, layer.chosen, shapeOf(product.getW())[0]);
    if (const dist::RankGroup ranks = dist::rowGroup(product); !ranks.isAlone())
      counts = dist::AllReduceOp::create(builder, loc, counts, ranks, dist::ReduceKind::Sum).getResult(0);
    addResult(function, counts, train::BindingKind::Result,
              (Twine(StringRef(abi::kExpertsPrefix)) + layer.name).str());
  }
};
} // namespace
} // namespace kedge::autodiff
