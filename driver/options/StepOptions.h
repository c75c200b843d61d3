// What the passes of a training step are told.
#pragma once
#include "driver/options/CompileOptions.h"
#include "lib/Model/Model.h"

namespace kedge::driver {

/// Options of level 2's passes; a model with training_info names its own loss.
pipelines::StepOptions stepOptions(const CompileOptions &options, const model::Model &model);

} // namespace kedge::driver
