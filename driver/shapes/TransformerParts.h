// What transformers of several families have in common.
#pragma once
#include "driver/shapes/Families.h"
#include "driver/shapes/GraphMaker.h"

namespace kedge::driver::shapes {

void tokensInput(GraphMaker &);
model::Model finish(GraphMaker &, const GraphMaker::Value &logits, int64_t vocabulary);

GraphMaker::Value attention(GraphMaker &, const GraphMaker::Values &operands, const Transformer &,
                            bool causal);

/// The head whose weight is the table of tokens, or one of its own.
GraphMaker::Value head(GraphMaker &, const GraphMaker::Value &x, const GraphMaker::Value &table,
                       const Transformer &);

/// Cosines and sines of as many rows as there are tokens. Their values mean nothing.
GraphMaker::Values rotations(GraphMaker &, const GraphMaker::Values &tables, const GraphMaker::Value &length,
                             int64_t half);

/// The number of tokens, [1].
GraphMaker::Value lengthOf(GraphMaker &);

/// silu(x gate) * (x up), down to the width again.
GraphMaker::Value gatedFeedForward(GraphMaker &, const GraphMaker::Value &x, const std::string &name,
                                   int64_t width, int64_t hidden);

} // namespace kedge::driver::shapes
