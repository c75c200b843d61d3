// Importers of nodes that are one op of one or two operands, and the parts of the math family.
#pragma once
#include "lib/Import/NodeImporter.h"

namespace kedge::importer {

template <typename Op> void importUnary(NodeContext &node) {
  node.setResult(0, Op::create(node.builder, node.loc, node.require(0)));
}

template <typename Op> void importBinary(NodeContext &node) {
  node.setResult(0, Op::create(node.builder, node.loc, node.require(0), node.require(1)));
}

/// Activations, PRelu and Dropout.
void addActivationImporters(NodeImporters &importers);
void addQuantizeImporters(NodeImporters &importers);
void addQonnxImporters(NodeImporters &importers);
void addWindowImporters(NodeImporters &importers);
void addDeterminantImporter(NodeImporters &importers);

/// onnx.ConvInteger with the node's window; zero points may be null.
mlir::Value integerConvolution(NodeContext &node, mlir::Value x, mlir::Value w, mlir::Value zeroX,
                               mlir::Value zeroW);

} // namespace kedge::importer
