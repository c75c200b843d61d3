// Numbers of narrow types (lib/Model/NarrowTypes.h) to codes and back, in ops that every target has.
#pragma once
#include "lib/Import/NodeImporter.h"

namespace kedge::importer {

/// The numbers that codes stand for, in f32.
mlir::Value fromNarrow(NodeContext &node, mlir::Value codes, model::ElementType type);

/// How a number that a narrow float does not have is rounded.
struct NarrowRounding {
  bool saturates = true;          ///< beyond the largest: to the largest, else to infinity or NaN
  std::string ofExponents = "up"; ///< float8e8m0: up, down or nearest
};
/// The codes of numbers of any element type. Integers wrap around, as casts of wider ones do.
mlir::Value toNarrow(NodeContext &node, mlir::Value x, model::ElementType type,
                     const NarrowRounding &rounding = {});

/// `x` in another element type, or itself.
mlir::Value castTo(NodeContext &node, mlir::Value x, mlir::Type element);

} // namespace kedge::importer
