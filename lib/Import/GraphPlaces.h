// Where in the user's model a node came from.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "lib/Model/Model.h"
#include "mlir/IR/Location.h"

namespace kedge::importer {

/// Dotted path of the module whose forward wrote the node: exporter metadata, else the folders of a name
/// such as /h.0/attn/MatMul; empty when unknown.
std::string modulePath(const model::Node &node);
/// A NameLoc of the module path around a NameLoc of the node.
mlir::Location nodeLocation(mlir::MLIRContext &context, const model::Node &node);
/// The same as the place of ops.
PlaceAttr nodePlace(mlir::MLIRContext &context, const model::Node &node);
/// "node '/h.0/attn/MatMul' (MatMul) in module h.0.attn".
std::string describePlace(const model::Node &node);

} // namespace kedge::importer
