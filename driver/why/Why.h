// kedge why: what a plan does with one tensor, and what other decisions about it would cost and save.
#pragma once
#include "driver/options/CompileOptions.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

struct WhyQuestion {
  std::string
      tensor; ///< of the ONNX file (an input, a parameter, a node or its output), a module, or FUNCTION#N
  std::string force; ///< keep, recompute or offload: a decision that takes the place of the plan's; "": none
};

/// Plans and answers (docs/guide/why.md describes the fields). Throws kedge::Error where nothing has that
/// name.
nlohmann::json why(const CompileOptions &options, const WhyQuestion &question);
std::string whyText(const nlohmann::json &answer);

} // namespace kedge::driver
