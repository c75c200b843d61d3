#include "driver/options/ParameterOptions.h"
#include "driver/options/CompileOptions.h"
#include "driver/options/WidthScales.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Support/Error.h"
#include "runtime/format/NearMisses.h"
#include "runtime/program/NumberFlags.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// An expression that matches no parameter is a mistake.
void forParameters(ModuleOp module, const CompileOptions &options, const char *option,
                   const rt::NameRule &rule, llvm::function_ref<void(train::StateOp)> apply) {
  std::vector<std::string> names;
  bool used = false;
  for (auto state : module.getOps<train::StateOp>()) {
    if (state.getRole() != train::Role::Parameter)
      continue;
    names.push_back(state.getOnnxName().value_or(state.getSymName()).str());
    if (rule.names.isIn(names.back())) {
      apply(state);
      used = true;
    }
  }
  if (!used)
    fail("{}: {} '{}' matches no parameter{}", options.model.model, option, rule.given,
         rt::nearMisses(rule.given, names));
}

} // namespace

RateScale RateScale::parse(const std::string &text) {
  constexpr rt::NumberRange kScale = {"--lr-scale", false, 0, 1e12};
  const auto [rule, number] = rt::NameRule::split(text);
  if (rule.given.find('=') == std::string::npos)
    fail("'{}': expected REGEX=X with a number X", text);
  if (const std::string wrong = rt::outOfRange(kScale, number); !wrong.empty())
    fail("'{}': expected REGEX=X: {}", text, wrong);
  return {rule, *rt::decimalIn(number)};
}

void applyParameterOptions(ModuleOp module, const CompileOptions &options) {
  Builder builder(module.getContext());
  for (const rt::NameRule &excluded : options.weightDecayExclude)
    forParameters(module, options, "--weight-decay-exclude", excluded,
                  [&](train::StateOp state) { state.setDecayAttr(builder.getBoolAttr(false)); });
  for (const RateScale &scaled : options.lrScale)
    forParameters(module, options, "--lr-scale", scaled,
                  [&](train::StateOp state) { state.setLrScaleAttr(builder.getF64FloatAttr(scaled.scale)); });
  applyWidths(module, options);
}

} // namespace kedge::driver
