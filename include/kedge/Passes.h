// The compiler's passes and pipelines by their names, for a tool that parses pipelines.
#pragma once

namespace kedge {

/// Registers every pass (`kedge-add-loss`, ...) and the pipelines of the phases (`kedge-raise-pipeline`,
/// -step-, -schedule-, -rematerialize-, -memory- and -lower-) with MLIR's registry, which is the process's.
/// Call it once. What each does and takes is in the reference pages (docs/reference/passes) and in
/// `kedge-opt --help`.
void registerAllPasses();

} // namespace kedge
