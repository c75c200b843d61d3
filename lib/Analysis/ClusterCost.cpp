// Work of a generated kernel: from its domain, maps and body.
#include "lib/Analysis/ClusterCost.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kedge::analysis {
namespace {

using Dims = llvm::SmallBitVector;

/// What one evaluation of a scalar op costs.
struct OpWork {
  double flops = 0, special = 0; ///< special: in evaluations of exp
};

bool isFloat(Operation *op) {
  return op->getNumOperands() > 0 && isa<FloatType>(op->getOperand(0).getType());
}

OpWork workOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, OpWork>(op)
      .Case<sched::RandomOp>([](auto) { return OpWork{0, 5}; }) // ten rounds of Philox
      .Case<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp, math::Log1pOp, math::ExpM1Op>(
          [](auto) { return OpWork{0, 1.5}; })
      .Case<math::PowFOp>([](auto) { return OpWork{0, 3}; })
      .Case<math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp>(
          [](auto) { return OpWork{1, 0}; })
      .Case<math::FmaOp>([](auto) { return OpWork{2, 0}; })
      .Case<math::SqrtOp, arith::DivFOp>([](auto) { return OpWork{1, 0.25}; })
      .Case<arith::ConstantOp, sched::IndexOp, sched::YieldOp, arith::ExtFOp, arith::TruncFOp>(
          [](auto) { return OpWork{}; })
      .Default([](Operation *other) {
        if (isa<math::MathDialect>(other->getDialect()))
          return OpWork{0, isFloat(other) ? 1.0 : 0.0};
        return OpWork{isFloat(other) ? 1.0 : 0.0, 0};
      });
}

class ClusterWork {
public:
  explicit ClusterWork(sched::ClusterOp cluster)
      : cluster(cluster), domain(cluster.getDomain()), rank(domain.size()) {}

  LaunchCost total() {
    LaunchCost cost;
    cost.kind = WorkKind::Vector;
    countBody(cost);
    cost.bytesRead = bytesRead();
    for (Value output : cluster.getOutputs()) {
      double bytes = static_cast<double>(elements(output)) * elementBytes(output);
      cost.bytesWritten += bytes;
      cost.bytesUpdated += isState(output) ? bytes : 0;
    }
    return cost;
  }

private:
  static int64_t elements(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getNumElements(); }
  static double elementBytes(Value tensor) {
    return std::max(8u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth()) / 8.0;
  }
  /// Whether the function returns it as the new value of a state.
  static bool isState(Value output) {
    for (OpOperand &use : output.getUses())
      if (auto leave = dyn_cast<func::ReturnOp>(use.getOwner()))
        if (auto function = dyn_cast<func::FuncOp>(leave->getParentOp()))
          return train::stateOfResult(function, use.getOperandNumber()) != nullptr;
    return false;
  }
  static AffineMap mapAt(ArrayAttr maps, size_t i) { return cast<AffineMapAttr>(maps[i]).getValue(); }

  Dims dimsOf(AffineExpr expr) const {
    Dims dims(rank);
    for (unsigned d = 0; d < rank; ++d)
      if (expr.isFunctionOfDim(d))
        dims.set(d);
    return dims;
  }
  double extent(const Dims &dims) const {
    double points = 1;
    for (unsigned d : dims.set_bits())
      points *= static_cast<double>(domain[d]);
    return points;
  }

  /// Along a row: partial results in many lanes, which are added up at the end. Across rows every lane has
  /// its own.
  OpWork workOfReduction(const Dims &reduced) const {
    return {1, rank > 0 && reduced.test(rank - 1) ? 0.35 : 0.1};
  }

  /// A scalar is computed once for every point of the dims that it depends on: loops keep what is constant.
  void countBody(LaunchCost &cost) {
    Dims reduced(rank);
    for (int64_t d : cluster.getReduced())
      reduced.set(d);
    llvm::DenseMap<Value, Dims> known;
    Block &body = cluster.getBody().front();
    for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
      Dims dims(rank);
      for (AffineExpr expr : mapAt(cluster.getInputMaps(), i).getResults())
        dims |= dimsOf(expr);
      known[argument] = dims;
    }
    for (Operation &op : body) {
      Dims dims(rank);
      if (auto index = dyn_cast<sched::IndexOp>(op))
        dims.set(index.getDim());
      for (Value operand : op.getOperands())
        dims |= known[operand];
      bool reduction = isa<sched::ReduceOp>(op);
      double times = extent(reduction ? dims | reduced : dims);
      OpWork work = reduction ? workOfReduction(reduced) : workOf(&op);
      cost.flops += times * work.flops;
      cost.specialFunctions += times * work.special;
      if (reduction)
        dims.reset(reduced);
      for (Value result : op.getResults())
        known[result] = dims;
    }
  }

  /// Smallest and largest value of an index over the domain.
  std::pair<int64_t, int64_t> range(AffineExpr expr) const {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return {constant.getValue(), constant.getValue()};
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return {0, std::max<int64_t>(1, domain[dim.getPosition()]) - 1};
    auto binary = cast<AffineBinaryOpExpr>(expr);
    auto [low, high] = range(binary.getLHS());
    auto [rightLow, rightHigh] = range(binary.getRHS());
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return {low + rightLow, high + rightHigh};
    case AffineExprKind::Mul: {
      auto [least, most] = std::minmax({low * rightLow, low * rightHigh, high * rightLow, high * rightHigh});
      return {least, most};
    }
    case AffineExprKind::FloorDiv:
      return {llvm::divideFloorSigned(low, rightLow), llvm::divideFloorSigned(high, rightLow)};
    default:
      return low >= 0 && high < rightLow ? std::pair(low, high) : std::pair(int64_t(0), rightLow - 1);
    }
  }

  /// Distinct elements that a map names. Exact where the indices of a tensor use different dims, or one dim
  /// each; else no more than the points of the domain.
  double distinct(AffineMap map) const {
    struct Group {
      Dims dims;
      double values;
    };
    SmallVector<Group> groups;
    for (AffineExpr expr : map.getResults()) {
      auto [low, high] = range(expr);
      Group group{dimsOf(expr), static_cast<double>(high - low + 1)};
      group.values = std::min(group.values, extent(group.dims));
      for (size_t i = 0; i < groups.size();)
        if (groups[i].dims.anyCommon(group.dims)) {
          group = {group.dims | groups[i].dims, group.values * groups[i].values};
          group.values = std::min(group.values, extent(group.dims));
          groups.erase(groups.begin() + i);
        } else {
          ++i;
        }
      groups.push_back(group);
    }
    double product = 1;
    for (const Group &group : groups)
      product *= group.values;
    return product;
  }

  double bytesRead() {
    if (llvm::is_contained(domain, 0))
      return 0;
    llvm::MapVector<Value, llvm::SmallSetVector<AffineMap, 2>> maps;
    for (auto [i, input] : llvm::enumerate(cluster.getInputs()))
      maps[input].insert(mapAt(cluster.getInputMaps(), i));
    double bytes = 0;
    for (auto &[input, views] : maps) {
      double read = 0;
      for (AffineMap map : views)
        read += distinct(map);
      bytes += std::min(read, static_cast<double>(elements(input))) * elementBytes(input);
    }
    return bytes;
  }

  sched::ClusterOp cluster;
  ArrayRef<int64_t> domain;
  unsigned rank;
};

} // namespace

LaunchCost costOfCluster(sched::ClusterOp cluster) { return ClusterWork(cluster).total(); }

} // namespace kedge::analysis
