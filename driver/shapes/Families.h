// The families of published models. Each makes the graph of one.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::driver::shapes {

/// Keys and values out of one narrow vector a token.
struct LatentAttention {
  int64_t queries = 0, keys = 0;             ///< widths of the narrow vectors; 0: no such attention
  int64_t plain = 0, turned = 0, values = 0; ///< of a head: what is not rotated, what is, and its values
};

/// Where feed-forwards are experts; `hidden` of the Transformer is theirs.
struct Mixture {
  int64_t experts, chosen;
  int64_t headSize = 0;                     ///< 0: the width over the heads
  int64_t denseLayers = 0, denseHidden = 0; ///< the first layers have none
  int64_t sharedHidden = 0;                 ///< of an expert that each token has
  bool hasBiases = false, normsHeads = false, scoresBySigmoid = false;
  LatentAttention latent = {};
};

struct Transformer {
  int64_t layers, width, heads;
  int64_t keyHeads = 0; ///< fewer than `heads`: shared among them
  int64_t hidden = 0;   ///< of the feed-forwards
  int64_t vocabulary = 0, positions = 0;
  bool tied = true; ///< the head is the table of tokens
  const Mixture *mixture = nullptr;
};

model::Model gptModel(const Transformer &sizes);
model::Model bertModel(const Transformer &sizes);
model::Model llamaModel(const Transformer &sizes);
model::Model mixtureModel(const Transformer &sizes);

model::Model resnet50Model();
model::Model unetModel();

/// A stack of square linears: state and nothing else.
model::Model linearsModel(int64_t layers, int64_t width, bool bias);
/// Norms and elementwise work on as many rows as the batch has.
model::Model wideRowsModel();
/// One product whose parameter has 134 MB: an optimizer's work.
model::Model wideParameterModel();

} // namespace kedge::driver::shapes
