// Whether the multi-device annotations of a model are such as can be followed, before shapes are known.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::model {

/// The stages of a configuration, the first one as 0; one without any.
struct Stages {
  int64_t first = 0, count = 1;
};

/// Checks all that the nodes say of a configuration: its tensors, devices, groups, parts and stages. Throws
/// kedge::Error with the node and the tensor, what was expected, and what to do.
Stages checkShardings(const Model &model, const DeviceConfiguration &configuration);

/// The configuration of that name. Throws kedge::Error, which lists those that there are.
const DeviceConfiguration &findConfiguration(const Model &model, const std::string &name);

} // namespace kedge::model
