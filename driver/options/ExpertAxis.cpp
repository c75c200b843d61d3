#include "driver/options/ExpertAxis.h"
#include <fmt/format.h>

namespace kedge::driver {

std::string whyNoExpertAxis(const CompileOptions &o) {
  using autodiff::Optimizer;
  const struct {
    bool given;
    std::string what;
    const char *instead;
  } others[] = {
      {o.onGpu(), "--target " + o.machine.target, "expected cpu"},
      {o.isPipelined(), "an axis 'pipeline'", "give expert with replica and data"},
      {o.model.meshOfRanks().sizeOf(rt::Mesh::kTensor) > 1, "an axis 'tensor'",
       "give expert with replica and data"},
      {o.update.moments == autodiff::Moments::Int8, "--moments int8", "expected fp32 or bf16"},
      {o.update.moments == autodiff::Moments::Int4, "--moments int4", "expected fp32 or bf16"},
      {o.masterWeights == pipelines::MasterWeights::Split, "--master-weights split", "expected on or off"},
      {!llvm::is_contained({Optimizer::AdamW, Optimizer::Adam, Optimizer::Sgd, Optimizer::Lion,
                            Optimizer::RmsProp, Optimizer::Adagrad},
                           o.update.optimizer),
       "--optimizer " + std::string(wordOf(o.update.optimizer)),
       "expected adamw, adam, sgd, lion, rmsprop or adagrad"},
      {o.update.caution != autodiff::Caution::None, "--cautious", "leave it out"}};
  for (const auto &[given, what, instead] : others)
    if (given)
      return fmt::format("{} is not available yet with an axis 'expert'; {}", what, instead);
  return {};
}

} // namespace kedge::driver
