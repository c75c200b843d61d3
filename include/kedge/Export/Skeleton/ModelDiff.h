// The edits that turn the file of one model into another: what --repair and ties changed, for the exported
// file.
#pragma once
#include "kedge/Export/Skeleton/SkeletonEdits.h"

namespace kedge::exporter {

/// `after` is `before` with nodes, operands, initializers and metadata of the main graph changed; operators,
/// attributes and opsets are not compared (training mode is not part of the exported graph). Throws
/// kedge::Error when a changed node lies in a function body that several calls share.
Edits editsBetween(const model::Model &before, const model::Model &after);

} // namespace kedge::exporter
