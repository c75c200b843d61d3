// Which device configuration of the file is followed, and the mesh that it is for.
#pragma once
#include "driver/options/CompileOptions.h"

namespace kedge::driver {

/// What the command line says of ranks.
struct GivenRanks {
  std::string words; ///< of the command line, for messages
  bool mesh = false, ranks = false;
  std::string configuration; ///< --configuration; empty: not given
};

/// Sets `model.configuration`, and the mesh and ranks where only the file tells them. Without --configuration
/// the only one whose devices the ranks, or the mesh, fit is followed; a note says when none does. Throws
/// kedge::Error.
void chooseConfiguration(const GivenRanks &given, CompileOptions &options);

} // namespace kedge::driver
