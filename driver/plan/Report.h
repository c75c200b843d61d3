// --report FILE.json|FILE.html of plan and compile.
#pragma once
#include "driver/Compilation.h"

namespace kedge::driver {

/// Throws unless the name's ending says which kind it is, and its folder can be written; before any work.
void checkReportFile(const std::string &path);
/// After plan(). An empty path is fine.
void writeReport(Compilation &compilation, const CompileOptions &options);
/// The same of a report that is not the compilation's own.
void writeReport(const nlohmann::json &report, mlir::ModuleOp module, const CompileOptions &options);

} // namespace kedge::driver
