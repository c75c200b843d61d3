// Choices by the bits of a number, known again as a table.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <array>
#include <optional>

namespace kedge::lower {

/// What a tree of selects between f32 constants picks by the four low bits of `code`, an i32.
struct TableSelects {
  static constexpr unsigned kEntries = 16;
  mlir::Value code;
  std::array<mlir::TypedAttr, kEntries> entries;

  /// Nothing for another tree, and for one so small that selects are as fast.
  static std::optional<TableSelects> of(mlir::arith::SelectOp root);
  /// The entries at 16 lanes of codes: lane by lane, which LLVM makes one permutation where the processor has
  /// it.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value codes) const;
};

} // namespace kedge::lower
