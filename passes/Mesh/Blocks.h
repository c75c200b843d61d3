// Blocks of whole tensors, and whole tensors of blocks.
#pragma once
#include "lib/Dialect/Kedge/Place.h"
#include "passes/Mesh/Layout.h"

namespace kedge::mesh {

/// Builds along one group of ranks, and counts what is sent.
class BlockBuilder : public LocalBuilder {
public:
  BlockBuilder(mlir::OpBuilder &builder, mlir::Location loc, dist::RankGroup group)
      : LocalBuilder(builder, loc, group.ranks), group(group) {}

  mlir::Value allReduce(mlir::Value value, llvm::StringRef kind) override;
  mlir::Value offset(int64_t room) override;
  mlir::Value gather(mlir::Value block, const Layout &layout);
  mlir::Value cut(mlir::Value whole, const Layout &layout);

private:
  dist::RankGroup group;

  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> perm);
  mlir::Value flat(mlir::Value value);
};

} // namespace kedge::mesh
