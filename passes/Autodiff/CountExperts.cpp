#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/abi/ExpertNames.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

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
    llvm::MapVector<Value, train::GroupedMatmulOp> choices;
    function.walk([&](train::GroupedMatmulOp product) {
      if (PlaceAttr place = placeOf(product); place && place.getPhase() == TrainingPhase::Forward)
        choices.insert({train::chosenExperts(product), product});
    });
    for (auto [chosen, product] : choices)
      count(function, chosen, product);
    addStatistic("layers", static_cast<int64_t>(choices.size()));
  }

  void count(func::FuncOp function, Value chosen, train::GroupedMatmulOp product) {
    PlacedBuilder builder(product);
    const Location loc = product.getLoc();
    Value counts = train::countChosen(builder, loc, chosen, shapeOf(product.getW())[0]);
    if (const dist::RankGroup ranks = dist::rowGroup(product); !ranks.isAlone())
      counts = dist::AllReduceOp::create(builder, loc, counts, ranks, dist::ReduceKind::Sum).getResult(0);
    addResult(function, counts, train::BindingKind::Result,
              (Twine(StringRef(abi::kExpertsPrefix)) + nameOf(placeOf(product))).str());
  }

  /// Of the layer, which no other one has.
  std::string nameOf(PlaceAttr place) {
    const std::string own = (place.getModule().empty() ? place.getNode() : place.getModule()).str();
    std::string name = own;
    for (int64_t number = 1; !names.insert(name).second; ++number)
      name = own + "." + std::to_string(number);
    return name;
  }

  llvm::StringSet<> names;
};
} // namespace
} // namespace kedge::autodiff
