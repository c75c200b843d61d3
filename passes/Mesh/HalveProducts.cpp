#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Analysis/OpSeconds.h"
#include "passes/Mesh/MatmulHalves.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_HALVEPRODUCTS
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// Predicted seconds of what is between the start of the first half and what reads the result.
class Gain {
public:
  explicit Gain(const std::string &device) : seconds(device) {}

  /// Of product and sum. In the backward part the gradient of the weight, as much work as the product, runs
  /// under the sum anyway.
  bool pays(ScatteredMatmul &whole) {
    Block block;
    Halves halves = whole.sample(block);
    const double product = seconds.of(whole.product), sum = seconds.of(whole.sum),
                 half = seconds.of(halves.products[0]), sent = seconds.of(halves.collective),
                 other = isBackward(whole.sum) ? product : 0;
    const double before = product + std::max(sum, other),
                 after = std::max(std::max(2 * half, half + sent) + sent, 2 * half + other);
    return after + moved(halves) < before;
  }

  bool pays(GatheredMatmuls &whole) {
    Block block;
    Halves halves = whole.sample(block);
    const double sent = seconds.of(halves.collective);
    double before = seconds.of(whole.gather), half = 0;
    for (auto [product, part] : llvm::zip(whole.products, halves.products)) {
      before += seconds.of(product);
      half += seconds.of(part);
    }
    return std::max(2 * sent, sent + half) + half + moved(halves) < before;
  }

private:
  double moved(const Halves &halves) {
    double sum = 0;
    for (Operation *op : halves.copies)
      sum += seconds.of(op);
    return sum;
  }

  static bool isBackward(Operation *op) {
    PlaceAttr place = placeOf(op);
    return place && place.getPhase() == TrainingPhase::Backward;
  }

  analysis::OpSeconds seconds;
};

struct HalveProducts : impl::HalveProductsBase<HalveProducts> {
  using Base::Base;

  void run() override {
    int64_t sums = 0, gathers = 0;
    std::optional<Gain> gain;
    const auto pays = [&](auto &whole) {
      if (when == Overlap::On)
        return true;
      if (!gain)
        gain.emplace(device);
      return gain->pays(whole);
    };
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || when == Overlap::Off)
        continue;
      for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
        if (auto sum = ScatteredMatmul::match(&op); sum && pays(*sum)) {
          sum->halve();
          ++sums;
        }
      SmallVector<Operation *> sent;
      for (auto gather : function.getBody().front().getOps<dist::AllGatherOp>())
        sent.push_back(gather);
      for (Operation *op : sent)
        if (auto gather = GatheredMatmuls::match(op); gather && pays(*gather)) {
          gather->halve();
          ++gathers;
        }
    }
    addStatistic("sums halved", sums);
    addStatistic("gathers halved", gathers);
  }
};

} // namespace
} // namespace kedge::mesh
