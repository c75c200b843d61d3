// kedge shapes: models of published sizes as ONNX without weights, to plan with before there is a model.
#pragma once
#include "lib/Model/Model.h"
#include <optional>
#include <string>

namespace kedge::driver::shapes {

/// What of a published model is made otherwise. Not every model has each of them.
struct ShapeChanges {
  std::optional<int64_t> layers, width, heads, keyHeads, hidden, vocabulary, positions;
};

/// The published models, a line each: name, parameters, and what it is.
std::string publishedShapes();

/// The model of this name. Its weights are in a file that does not exist. Throws an error that lists the
/// names if there is none of this one, or that says what the model has if a change is none of it.
model::Model publishedModel(const std::string &name, const ShapeChanges &changes);

/// Elements of all weights.
int64_t weightsOf(const model::Model &model);

} // namespace kedge::driver::shapes
