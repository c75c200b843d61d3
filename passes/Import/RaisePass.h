// What passes that raise a composite have in common: they try each op that its primitives may begin with.
#pragma once
#include "passes/Base/KedgePass.h"
#include "passes/Import/MatchUtils.h"

namespace kedge::raise {

/// `counter` counts the roots that became a composite.
template <CounterName counter, typename... Roots>
class RaisePass : public KedgePass<mlir::func::FuncOp, counter> {
  using Base = KedgePass<mlir::func::FuncOp, counter>;

protected:
  using Root = std::tuple_element_t<sizeof...(Roots) == 1, std::tuple<mlir::Operation *, Roots...>>;

  explicit RaisePass(mlir::TypeID id) : Base(id) {}

  /// Whether `root` belonged to a composite, which is now one op.
  virtual bool raise(Root root) = 0;

private:
  void run() final {
    llvm::SmallVector<Root> roots;
    this->getOperation().walk([&](Root op) {
      if (mlir::isa<Roots...>(op))
        roots.push_back(op);
    });
    int64_t raised = 0;
    for (Root root : roots)
      raised += raise(root);
    eraseDead(this->getOperation());
    this->addStatistic(counter.text, raised);
  }
};

} // namespace kedge::raise
