// Shared libraries with dialects and passes of others.
#pragma once
#include "mlir/IR/DialectRegistry.h"
#include <string>
#include <vector>

namespace kedge::driver {

/// The compiler's dialects and those of the plugins, whose passes are registered by their names for this
/// process. A plugin has mlirGetDialectPluginInfo, mlirGetPassPluginInfo or both (mlir/Tools/Plugins). Throws
/// kedge::Error for a file that cannot be loaded or was built for another version of MLIR.
mlir::DialectRegistry dialectsWith(const std::vector<std::string> &plugins);

} // namespace kedge::driver
