#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "passes/Mesh/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace kedge::mesh {
#define GEN_PASS_DEF_SETEXPERTLOAD
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// The most that the ranks of a group have of a layer's rows, each with as many experts, as a multiple of the
/// even share.
double busiest(ArrayRef<double> shares, int64_t ranks) {
  const size_t own = shares.size() / static_cast<size_t>(ranks);
  double most = 0;
  for (size_t first = 0; own > 0 && first + own <= shares.size(); first += own) {
    double sum = 0;
    for (double share : shares.slice(first, own))
      sum += share;
    most = std::max(most, sum);
  }
  return most * static_cast<double>(ranks);
}

struct SetExpertLoad : impl::SetExpertLoadBase<SetExpertLoad> {
  using Base::Base;

  void run() override {
    if (!load.isGiven())
      return;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const std::optional<train::FunctionKind> kind = train::kindOf(function);
      if ((kind == train::FunctionKind::Step || kind == train::FunctionKind::Micro) &&
          failed(apply(function)))
        return signalPassFailure();
    }
  }

  LogicalResult apply(func::FuncOp function) {
    const SmallVector<train::ExpertLayer> layers = train::expertLayers(function);
    if (layers.empty())
      return refuse(load.layers.front().line,
                    "the model has no layer of experts that is computed as grouped products");
    const bool isNamed = !load.layers.front().name.empty();
    if (load.layers.size() != layers.size() && !isNamed)
      return refuse(load.layers.back().line,
                    llvm::formatv("it has {0} layers, and the model {1}", load.layers.size(), layers.size()));
    for (auto [number, layer] : llvm::enumerate(layers)) {
      const LayerLoad *given = isNamed ? find(layer.name) : &load.layers[number];
      if (!given)
        return refuse(load.layers.front().line, llvm::formatv("it has no layer '{0}'", layer.name));
      if (failed(set(function, layer, *given)))
        return failure();
    }
    for (const LayerLoad &given : load.layers)
      if (isNamed && llvm::none_of(layers, [&](auto &layer) { return layer.name == given.name; }))
        return refuse(given.line, llvm::formatv("the model has no layer '{0}'", given.name));
    addStatistic("layers", static_cast<int64_t>(layers.size()));
    advise(layers);
    return success();
  }

  const LayerLoad *find(StringRef name) const {
    const auto found = llvm::find_if(load.layers, [&](const LayerLoad &layer) { return layer.name == name; });
    return found == load.layers.end() ? nullptr : &*found;
  }

  LogicalResult set(func::FuncOp function, const train::ExpertLayer &layer, const LayerLoad &given) {
    train::GroupedMatmulOp first = layer.product;
    const int64_t experts = shapeOf(first.getW())[0];
    if (static_cast<int64_t>(given.shares.size()) != experts)
      return refuse(given.line, llvm::formatv("it has {0} experts for '{1}', which has {2}",
                                              given.shares.size(), layer.name, experts));
    Builder builder(function.getContext());
    const DenseF64ArrayAttr shares = builder.getDenseF64ArrayAttr(given.shares);
    function.walk([&](Operation *op) {
      if (auto product = dyn_cast<train::GroupedMatmulOp>(op))
        if (train::chosenExperts(product.getExperts()) == layer.chosen)
          product.setLoadAttr(shares);
      if (auto product = dyn_cast<train::GroupedMatmulGradOp>(op))
        if (train::chosenExperts(product.getExperts()) == layer.chosen)
          product.setLoadAttr(shares);
    });
    return success();
  }

  /// What --expert-capacity has to be for such rows.
  void advise(ArrayRef<train::ExpertLayer> layers) {
    const dist::RankGroup group = dist::expertGroup(getOperation());
    if (group.isAlone())
      return;
    double most = 0;
    std::string where;
    for (auto layer : layers)
      if (const double own = busiest(*layer.product.getLoad(), group.ranks); own > most) {
        most = own;
        where = layer.name;
      }
    const double needed = std::ceil(most * 20) / 20;
    if (capacity > 0 && capacity < most)
      emitRemark(getOperation().getLoc())
          << llvm::formatv(
                 "--expert-capacity {0}: by --expert-load {1} a rank gets {2:F2} times its even share of "
                 "rows in '{3}', and a step that is alike would end with an error; give "
                 "--expert-capacity {4:F2} or more",
                 capacity.getValue(), load.path, most, where, needed)
                 .str();
    else
      emitRemark(getOperation().getLoc())
          << llvm::formatv("--expert-load {0}: the busiest rank gets {1:F2} times its even share of rows, in "
                           "'{2}'; --expert-capacity {3:F2} has room for that",
                           load.path, most, where, needed)
                 .str();
  }

  LogicalResult refuse(int64_t line, const Twine &why) {
    return getOperation().emitError() << "--expert-load " << load.path << ":" << line << ": " << why;
  }
};
} // namespace
} // namespace kedge::mesh
