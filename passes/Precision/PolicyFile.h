// The lines of --precision-policy FILE.
#pragma once
#include "kedge/Interfaces/PrecisionOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/io/NamePattern.h"
#include <optional>
#include <string>
#include <vector>

namespace kedge::precision {

/// Overrides of a policy: `low|fp32|follow|widest`, then `op:NAME` or `node:REGEX`; # begins a comment.
class PolicyFile {
public:
  /// Reports lines that say nothing at `where`, and operators that are unknown.
  static mlir::FailureOr<PolicyFile> read(llvm::StringRef path, mlir::Operation *where);

  /// What the last line that fits says; nothing when none does.
  std::optional<PrecisionClass> classOf(mlir::Operation *op);
  /// Reports `node:` lines that no op of the model fitted.
  mlir::LogicalResult checkAllUsed(mlir::Operation *where) const;

private:
  struct Line {
    unsigned number = 0;
    PrecisionClass says = PrecisionClass::Follow;
    std::string op;
    std::optional<rt::NamePattern> node;
    std::string text;
    bool used = false;

    bool fits(mlir::Operation *candidate) const;
  };
  std::string path;
  std::vector<Line> lines;
};

} // namespace kedge::precision
