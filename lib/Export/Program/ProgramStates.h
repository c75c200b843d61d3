// The states of a program as JSON: where they lie and where their values come from.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "lib/Export/Program/ProgramJson.h"

namespace kedge::exporter {

struct StateTable {
  nlohmann::json states, model;
};

/// A rank's part of a tensor, as include/kedge/abi/program.md describes it.
nlohmann::json shardJson(dist::ShardingAttr sharding, bool isFlat);

StateTable stateTable(mlir::ModuleOp module, const ProgramFacts &facts, std::vector<unsigned char> &data);

} // namespace kedge::exporter
