// Parts of rows, and whole rows of parts, in the order in which ranks share positions.
#pragma once
#include "passes/Mesh/Blocks.h"

namespace kedge::mesh {

/// Of N ranks each has T / N positions in a row; or, zigzag, parts r and 2 N - 1 - r of 2 N: of what causal
/// attention computes all then have the same share.
struct PositionOrder {
  dist::RankGroup group;
  int64_t positions = 0; ///< T
  bool isZigzag = false;
};

class PositionBuilder : public BlockBuilder {
public:
  PositionBuilder(mlir::OpBuilder &builder, mlir::Location loc, const PositionOrder &order, CutLoop cut = {})
      : BlockBuilder(builder, loc, order.group, std::move(cut)), order(order) {}

  /// The rank's part of a whole tensor.
  mlir::Value part(mlir::Value whole, const Layout &layout);
  /// The whole of the ranks' parts.
  mlir::Value all(mlir::Value part, const Layout &layout, mlir::Type whole);
  /// The sum of the ranks' summands: all of it, or the rank's part.
  mlir::Value summed(mlir::Value summand, const Layout &wanted);
  /// Where the rank's positions begin: one number, or two of a zigzag.
  mlir::Value offset(int64_t room) override;

private:
  PositionOrder order;

  mlir::Value reordered(mlir::Value whole, const Layout &layout, bool back);
};

} // namespace kedge::mesh
