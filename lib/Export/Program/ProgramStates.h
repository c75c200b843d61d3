// The states of a program as JSON: where they lie and where their values come from.
#pragma once
#include "lib/Export/Program/ProgramJson.h"

namespace kedge::exporter {

struct StateTable {
  nlohmann::json states, model;
};

StateTable stateTable(mlir::ModuleOp module, const ProgramFacts &facts, std::vector<unsigned char> &data);

} // namespace kedge::exporter
