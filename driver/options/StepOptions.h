// What the passes of a training step are told.
#pragma once
#include "driver/options/CompileOptions.h"
#include "lib/Model/Model.h"

namespace kedge::driver {

/// Options of level 2's passes; a model with training_info names its own loss.
pipelines::StepOptions stepOptions(const CompileOptions &options, const model::Model &model);

/// Throws kedge::Error where --class-weights or --pos-weight is no file of such weights.
void checkLossWeights(const ModelOptions &options);

} // namespace kedge::driver
