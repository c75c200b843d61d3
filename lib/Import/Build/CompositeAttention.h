// Importers of ONNX's Attention and RotaryEmbedding, which become train.attention and train.rotary.
#pragma once
#include "lib/Import/NodeImporter.h"

namespace kedge::importer {
void importAttention(NodeContext &c);
void importRotaryEmbedding(NodeContext &c);
} // namespace kedge::importer
