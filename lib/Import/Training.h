// training_info (ONNX TrainingInfoProto): what it must keep to, and its operators.
#pragma once
#include "lib/Import/NodeImporter.h"

namespace kedge::importer {

/// ONNX's own checker ignores training_info. Throws kedge::Error for the first thing in it that is wrong:
/// names of bindings and of Gradient's xs, zs and y, inputs of initializations, names that occur twice.
void checkTraining(const model::Model &model);

/// The algorithm's nodes, with Gradient as operator Gradient of domain "kedge": inputs y, then xs.
std::vector<model::Node> algorithmNodes(const model::Graph &algorithm);

/// Adam, Adagrad and Momentum of ai.onnx.preview.training, and kedge::Gradient (algorithmNodes).
void registerTrainingImporters(NodeImporters &);

} // namespace kedge::importer
