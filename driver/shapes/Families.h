// The families of published models. Each makes the graph of one.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::driver::shapes {

struct Transformer {
  int64_t layers, width, heads;
  int64_t keyHeads = 0; ///< fewer than `heads`: shared among them
  int64_t hidden = 0;   ///< of the feed-forwards
  int64_t vocabulary = 0, positions = 0;
  bool tied = true; ///< the head is the table of tokens
};

model::Model gptModel(const Transformer &sizes);
model::Model bertModel(const Transformer &sizes);
model::Model llamaModel(const Transformer &sizes);

model::Model resnet50Model();
model::Model unetModel();

/// A stack of square linears: state and nothing else.
model::Model linearsModel(int64_t layers, int64_t width, bool bias);
/// Norms and elementwise work on as many rows as the batch has.
model::Model wideRowsModel();
/// One product whose parameter has 134 MB: an optimizer's work.
model::Model wideParameterModel();

} // namespace kedge::driver::shapes
