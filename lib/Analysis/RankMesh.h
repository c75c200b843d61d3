// The mesh of a module, as the runtime counts its ranks.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "runtime/program/Mesh.h"

namespace kedge::analysis {

/// Null: one rank.
rt::Mesh rankMesh(dist::MeshAttr mesh);

} // namespace kedge::analysis
