// kedge-opt --kedge-readable with MLIR's flags that print IR between passes.
#pragma once
#include "mlir/Pass/PassManager.h"

namespace kedge::tool {

/// MLIR's --mlir-print-ir-after-all and --mlir-print-ir-after-change, which print as MLIR does, are turned
/// off; what they asked for is to be printed by a ReadableChanges.
class ReadableChanges {
public:
  /// After the command line was read.
  static ReadableChanges takenFromFlags();
  /// Prints what each pass made, or, with after-change, what it changed, as --kedge-readable prints IR.
  void addTo(mlir::PassManager &passes) const;

private:
  bool all = false, onlyChanges = false;
};

} // namespace kedge::tool
