// Nodes of the domains that dialects of others have (kedge/Interfaces/OnnxDomainInterface.h).
#pragma once
#include "lib/Import/NodeImporter.h"

namespace kedge::importer {

/// Builds the op of the node's operator, which a loaded dialect has.
void importDomainNode(NodeContext &context);

} // namespace kedge::importer
