#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/Lower/Cluster/ClusterNest.h"
#include <numeric>

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

std::optional<ClusterNest::Run> ClusterNest::runOf(Value v, unsigned dim) const {
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return Run{0, constant.getSExtValue()};
  if (auto index = v.getDefiningOp<sched::IndexOp>()) {
    AffineExpr e = this->index[index.getDim()];
    if (auto walked = dyn_cast<AffineDimExpr>(e); walked && walked.getPosition() == dim)
      return Run{1, 0};
    return e.isFunctionOfDim(dim) ? std::nullopt : std::optional(Run{0, e.getLargestKnownDivisor()});
  }
  if (auto sum = v.getDefiningOp<arith::AddIOp>()) {
    auto left = runOf(sum.getLhs(), dim), right = runOf(sum.getRhs(), dim);
    if (!left || !right)
      return std::nullopt;
    return Run{left->stride + right->stride, std::gcd(left->restDivisor, right->restDivisor)};
  }
  if (auto product = v.getDefiningOp<arith::MulIOp>();
      product && matchPattern(product.getRhs(), m_ConstantInt(&constant)))
    if (auto left = runOf(product.getLhs(), dim))
      return Run{left->stride * constant.getSExtValue(), left->restDivisor * constant.getSExtValue()};
  return has(v, dim) ? std::nullopt : std::optional(Run{0, 1});
}
