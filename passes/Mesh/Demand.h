// Blocks that ops can work on.
#pragma once
#include "passes/Mesh/Layout.h"
#include <optional>

namespace kedge::mesh {

/// What the readers of a dimension want of its blocks: the sections that are cut each by itself, and of how
/// many elements blocks consist in each.
struct Demand {
  llvm::SmallVector<int64_t> sections;
  llvm::SmallVector<int64_t> units = {1};

  /// Blocks consist of as many elements, too; in all sections.
  void need(int64_t unit);
  void needIn(unsigned section, int64_t unit);
  void cutIn(llvm::ArrayRef<int64_t> sizes);
  /// The blocks of so many elements.
  ShardBlocks blocksOf(int64_t size, int64_t ranks) const;
};

/// 1 where a loop has sections: those are in elements.
int64_t elementsAUnit(mlir::Value value, int dim, const ShardingLoop &loop);
/// What readers of result `number` want, in the elements of an operand.
void passBack(const Demand &behind, int64_t behindAUnit, const ShardingLoop &loop, unsigned number,
              int64_t perUnit, Demand &demand);

/// ceil(size / ranks) elements each.
ShardBlocks blocksOf(int64_t size, int64_t ranks);

/// The cut of a loop without sections of its own under which a tensor that has the loop lies so; nullopt:
/// there is none.
std::optional<CutLoop> cutUnder(const ShardingRule &rule, int loop, const Layout &layout, mlir::Type type,
                                int64_t ranks);
/// Of a loop with sections. `layoutOf`: of operands as they are.
CutLoop cutInSections(mlir::Operation *op, const ShardingRule &rule, int loop,
                      llvm::function_ref<Layout(mlir::Value)> layoutOf, int64_t ranks);

} // namespace kedge::mesh
