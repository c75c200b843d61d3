#include "driver/options/ParameterOptions.h"
#include "driver/options/ProgramOptions.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Support/Error.h"
#include "runtime/format/NearMisses.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// An expression that matches no parameter is a mistake.
void forParameters(ModuleOp module, const CompileOptions &options, const char *option,
                   const std::string &text, const rt::NamePattern &pattern,
                   llvm::function_ref<void(train::StateOp)> apply) {
  std::vector<std::string> names;
  bool used = false;
  for (auto state : module.getOps<train::StateOp>()) {
    if (state.getRole() != train::Role::Parameter)
      continue;
    names.push_back(state.getOnnxName().value_or(state.getSymName()).str());
    if (pattern.isIn(names.back())) {
      apply(state);
      used = true;
    }
  }
  if (!used)
    fail("{}: {} '{}' matches no parameter{}", options.model.model, option, text,
         rt::nearMisses(text, names));
}

} // namespace

void applyParameterOptions(ModuleOp module, const CompileOptions &options) {
  auto excluded = patterns(options.weightDecayExclude, "--weight-decay-exclude");
  auto scales = scaledPatterns(options.lrScale);
  Builder builder(module.getContext());
  for (size_t i = 0; i < excluded.size(); ++i)
    forParameters(module, options, "--weight-decay-exclude", options.weightDecayExclude[i], excluded[i],
                  [&](train::StateOp state) { state.setDecayAttr(builder.getBoolAttr(false)); });
  for (size_t i = 0; i < scales.size(); ++i)
    forParameters(
        module, options, "--lr-scale", options.lrScale[i], scales[i].first,
        [&](train::StateOp state) { state.setLrScaleAttr(builder.getF64FloatAttr(scales[i].second)); });
}

} // namespace kedge::driver
