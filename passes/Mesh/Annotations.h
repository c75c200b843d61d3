// What the annotations of the file say of states and ops.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Mesh/Layout.h"

namespace kedge::mesh {

/// How an op is to be cut; absent members: nothing is said of it.
struct Wish {
  std::optional<CutLoop> loop;                      ///< no loop: whole
  llvm::SmallVector<std::optional<Layout>> results; ///< as readers find them
};

class Annotations {
public:
  explicit Annotations(mlir::ModuleOp module);

  /// Whether the file says how the model is cut: then nothing else does.
  bool given() const { return hasSpecs; }
  /// As the first node that says something of it, in the order of the file; nullopt: none does.
  std::optional<Layout> ofState(train::StateOp state) const;
  /// Names the values of a function's forward ops; before what is asked of them.
  void enter(mlir::func::FuncOp function);
  /// Whether something is said of the op's node, or of one that has become a part of the op.
  bool speaksOf(mlir::Operation *op) const { return hasSpecs && nodes.contains(op); }
  /// The op's node, and those that have become a part of the op, the last one makes its results.
  llvm::SmallVector<dist::AnnotationAttr> nodesOf(mlir::Operation *op) const { return nodes.lookup(op); }
  /// Those that have no op, on the way from what the op reads to its own node: the op is computed in their
  /// place.
  llvm::SmallVector<dist::AnnotationAttr> nodesWithin(mlir::Operation *op) const { return within.lookup(op); }
  const llvm::DenseMap<mlir::Operation *, llvm::SmallVector<dist::AnnotationAttr>> &allNodes() const {
    return nodes;
  }
  llvm::ArrayRef<dist::AnnotationAttr> inOrderOfFile() const { return list; }
  /// The name of an operand in the file; null: it has none.
  mlir::StringAttr nameOfOperand(mlir::Operation *op, unsigned operand) const;
  /// The name of a value in the file; null: it has none.
  mlir::StringAttr nameOf(mlir::Value value) const { return names.lookup(value); }
  /// What the op's node says of it. `layoutOf` are layouts of values so far. Reports an error where that
  /// cannot be followed.
  mlir::FailureOr<Wish> wishFor(mlir::Operation *op, const ShardingRule &rule, int64_t ranks,
                                llvm::function_ref<Layout(mlir::Value)> layoutOf) const;

private:
  llvm::SmallVector<dist::AnnotationAttr> list;
  llvm::DenseMap<PlaceAttr, dist::AnnotationAttr> byPlace;
  llvm::DenseMap<mlir::Value, mlir::StringAttr> names;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<dist::AnnotationAttr>> nodes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<dist::AnnotationAttr>> within;
  bool hasSpecs = false;

  void findNodesWithin(const llvm::MapVector<PlaceAttr, mlir::Operation *> &last);
  void nameArguments(mlir::func::FuncOp function);
  void nameResults(const llvm::MapVector<PlaceAttr, mlir::Operation *> &last);
  std::optional<Layout> specOf(mlir::Operation *op, mlir::StringAttr tensor, mlir::Value value) const;
  std::optional<Layout> specOfOperand(mlir::Operation *op, unsigned operand) const;
  std::optional<Layout> specOfResult(mlir::Operation *op, unsigned result) const;
  mlir::LogicalResult cutAlong(mlir::Operation *op, const ShardingRule &rule, int64_t ranks, unsigned operand,
                               const Layout &layout, CutLoop &cut) const;
};

bool isForward(mlir::Operation *op);

/// The name of a state in the file; of a working copy, that of its parameter.
mlir::StringAttr fileNameOf(train::StateOp state);

} // namespace kedge::mesh
