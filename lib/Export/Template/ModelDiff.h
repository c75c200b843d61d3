// Computes the edits that turn the file of one model into another. The
// exported file needs them for what --repair and tied weights changed.
#pragma once
#include "lib/Export/Template/ExportTemplateEdits.h"

namespace kedge::exporter {

/// `after` is `before` with changed nodes, operands, initializers and metadata of the main graph.
/// Operators, attributes and opsets are not compared, since the exported graph is not in training
/// mode. Throws kedge::Error when a changed node is in a function body that several calls share.
Edits editsBetween(const model::Model &before, const model::Model &after);

} // namespace kedge::exporter
