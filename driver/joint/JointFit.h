// Whether any way to train fits: what --max-batch and --max-seq ask of --auto.
#pragma once
#include "driver/options/CompileOptions.h"

namespace kedge::driver {

/// Tries the ways that hold the fewest bytes: no whole copies, the last ZeRO stage, the fewest rows of a
/// micro-batch (those of --shape with --max-batch), with each value of --offload and --precision, the most
/// moved first; then with ranks that divide the model.
bool fitsInSomeWay(const CompileOptions &options);

} // namespace kedge::driver
