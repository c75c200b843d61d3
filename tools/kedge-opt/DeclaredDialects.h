#pragma once
namespace mlir {
class PassManager;
}

namespace kedge::tool {
/// Ends the process with an error when a pass of `passes` loads a dialect that it does not declare: functions
/// are worked on side by side, and a dialect that one thread loads is seen half made by another.
void checkDeclaredDialects(mlir::PassManager &passes);
} // namespace kedge::tool
