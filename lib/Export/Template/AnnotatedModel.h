// A model file with the annotations of one device configuration; all else stays as it is, byte for byte.
#pragma once
#include "lib/Model/Model.h"
#include <map>

namespace kedge::exporter {

/// What nodes of the model's graph say of the configuration, by their place in the file.
using NodeAnnotations = std::map<uint64_t, model::NodeDevices>;

/// The file's bytes with the configuration and `annotations`, in place of what it said of a configuration of
/// that name. Its IR version is at least 11, which has these fields.
std::string annotatedModel(const model::Model &model, const model::DeviceConfiguration &configuration,
                           const NodeAnnotations &annotations);

} // namespace kedge::exporter
