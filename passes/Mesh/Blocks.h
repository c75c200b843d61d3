// Blocks of whole tensors, and whole tensors of blocks.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "passes/Mesh/Layout.h"

namespace kedge::mesh {

/// What a sum over the ranks is made of.
struct Partial {
  mlir::Value value; ///< this rank's summand, maybe wider than the sum
  Layout scatter;    ///< of the sum
};
using Partials = llvm::DenseMap<mlir::Value, Partial>;

/// Builds along one group of ranks. `cut`: the op's loop; `scatter`: how the results of `sum` are cut;
/// `partials` remembers them.
class BlockBuilder : public LocalBuilder {
public:
  BlockBuilder(mlir::OpBuilder &builder, mlir::Location loc, dist::RankGroup group, CutLoop cut = {},
               Layout scatter = {}, Partials *partials = nullptr)
      : LocalBuilder(builder, loc, group.ranks, std::move(cut)), group(group), scatter(std::move(scatter)),
        partials(partials) {}

  mlir::Value sumOverRanks(mlir::Value value) override;
  mlir::Value maximumOverRanks(mlir::Value value) override;
  mlir::Value sum(mlir::Value partial, mlir::Type element) override;
  mlir::Value addend(mlir::Value whole, mlir::Value partial) override;
  mlir::Value cast(mlir::Value value, mlir::Type element) override;
  mlir::Value offset(int64_t room) override;
  mlir::Value padded(mlir::Value block, const Layout &layout, mlir::Type whole, double number) override;
  mlir::Value gather(mlir::Value block, const Layout &layout, mlir::Type whole);
  mlir::Value cut(mlir::Value whole, const Layout &layout);

private:
  dist::RankGroup group;
  Layout scatter;
  Partials *partials;

  mlir::Value allSum(mlir::Value partial, mlir::Type element);
  mlir::Value scatteredSum(mlir::Value partial, mlir::Type element);
  mlir::Value blocksOutermost(mlir::Value whole, const Layout &layout);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value exchanged(mlir::Value value);
  mlir::Value flat(mlir::Value value);
  mlir::Value first(mlir::Value rows, int64_t count);
  mlir::Value filledUp(mlir::Value rows, int64_t count);
};

} // namespace kedge::mesh
