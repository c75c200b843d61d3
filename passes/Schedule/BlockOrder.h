// Which of two operations of a block comes first, for passes that put many new ones where others were: the
// numbers that MLIR gives the operations of a block leave little room between neighbours, and all are counted
// anew where it is used up.
#pragma once
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::schedule {

class BlockOrder {
public:
  explicit BlockOrder(mlir::Block &block) { number(block); }

  /// Both of the block. New operations need not be told.
  bool isBefore(mlir::Operation *first, mlir::Operation *second) {
    return numberOf(first) < numberOf(second);
  }
  /// Before an operation is erased, and after it was moved.
  void forget(mlir::Operation *op) { numbers.erase(op); }

private:
  void number(mlir::Block &block) {
    numbers.clear();
    for (auto [at, op] : llvm::enumerate(block))
      numbers[&op] = static_cast<double>(at);
  }

  double numberOf(mlir::Operation *op) {
    if (auto found = numbers.find(op); found != numbers.end())
      return found->second;
    const double below = nearest(op, [](mlir::Operation *other) { return other->getPrevNode(); }, -1);
    const double above = nearest(op, [](mlir::Operation *other) { return other->getNextNode(); }, below + 2);
    const double between = (below + above) / 2;
    if (between > below && between < above)
      return numbers[op] = between;
    number(*op->getBlock());
    return numbers[op];
  }

  /// Of the operations on one side the number of the first that has one.
  double nearest(mlir::Operation *op, llvm::function_ref<mlir::Operation *(mlir::Operation *)> step,
                 double none) {
    while ((op = step(op)))
      if (auto found = numbers.find(op); found != numbers.end())
        return found->second;
    return none;
  }

  llvm::DenseMap<mlir::Operation *, double> numbers;
};

} // namespace kedge::schedule
