// Names of a graph being imported; a subgraph sees those of the graphs around it.
#pragma once
#include "kedge/Import/NodeImporter.h"

namespace kedge {

struct ImportScope {
  llvm::StringMap<ImportedValue> values;
  const ImportScope *outer = nullptr;

  const ImportedValue *find(llvm::StringRef name) const {
    for (const ImportScope *scope = this; scope; scope = scope->outer)
      if (auto entry = scope->values.find(name); entry != scope->values.end())
        return &entry->second;
    return nullptr;
  }
};

/// A type as it is printed.
std::string typeText(mlir::Type type);

} // namespace kedge
