// Passes that a user adds to a phase.
#pragma once
#include "driver/options/Phase.h"
#include <string>

namespace kedge::driver {

/// --passes-before and --passes-after PHASE=PIPELINE.
struct AddedPasses {
  Phase phase = Phase::None;
  std::string pipeline; ///< as kedge-opt takes it

  /// "step=my-pass{x=1},other-pass". Throws kedge::Error.
  static AddedPasses parse(const std::string &text);
};

} // namespace kedge::driver
