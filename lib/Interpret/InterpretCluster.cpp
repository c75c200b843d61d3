#include "lib/Interpret/InterpretCluster.h"
#include "lib/Interpret/InterpretScalar.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::interpret;

namespace {
using Point = SmallVector<int64_t>;

int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> point) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), point), b = evaluate(binary.getRHS(), point);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return ((a % b) + b) % b;
  case AffineExprKind::FloorDiv:
    return a >= 0 ? a / b : -((-a + b - 1) / b);
  default:
    return a >= 0 ? (a + b - 1) / b : -((-a) / b);
  }
}

int64_t linearIndex(AffineMap map, ArrayRef<int64_t> shape, ArrayRef<int64_t> point) {
  int64_t at = 0;
  for (auto [expr, size] : llvm::zip(map.getResults(), shape))
    at = at * size + evaluate(expr, point);
  return at;
}

void store(HostTensor &tensor, int64_t at, Scalar value) {
  Type type = tensor.type.getElementType();
  size_t width = type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8;
  char *to = tensor.bytes.data() + at * width;
  if (auto floating = dyn_cast<FloatType>(type)) {
    APFloat number(value.f);
    bool inexact;
    number.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(to, &bits, width);
  } else {
    std::memcpy(to, &value.i, width);
  }
}

/// Steps `point` through the dims listed; false after the last.
bool advance(Point &point, ArrayRef<int64_t> domain, ArrayRef<int64_t> dims) {
  for (int64_t dim : llvm::reverse(dims)) {
    if (++point[dim] < domain[dim])
      return true;
    point[dim] = 0;
  }
  return false;
}

Scalar identityOf(sched::ReductionKind kind, Type type) {
  using sched::ReductionKind;
  Scalar value;
  bool isFloat = isa<FloatType>(type);
  auto set = [&](double f, int64_t i) { isFloat ? void(value.f = f) : void(value.i = i); };
  double infinity = std::numeric_limits<double>::infinity();
  unsigned width = isFloat ? 64 : type.getIntOrFloatBitWidth();
  int64_t largest = width >= 64 ? std::numeric_limits<int64_t>::max() : (int64_t(1) << (width - 1)) - 1;
  switch (kind) {
  case ReductionKind::Add:
  case ReductionKind::Or:
  case ReductionKind::UMax:
    set(0, 0);
    break;
  case ReductionKind::Mul:
    set(1, 1);
    break;
  case ReductionKind::Max:
    set(-infinity, -largest - 1);
    break;
  case ReductionKind::Min:
    set(infinity, largest);
    break;
  case ReductionKind::UMin:
  case ReductionKind::And:
    set(0, -1);
    break;
  }
  return roundTo(value, type);
}

uint64_t unsignedValue(int64_t value, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  return width >= 64 ? value : static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
}

Scalar combine(sched::ReductionKind kind, Scalar a, Scalar b, Type type) {
  using sched::ReductionKind;
  Scalar r;
  if (isa<FloatType>(type)) {
    switch (kind) {
    case ReductionKind::Add:
      r.f = a.f + b.f;
      break;
    case ReductionKind::Mul:
      r.f = a.f * b.f;
      break;
    case ReductionKind::Max:
      r.f = std::isnan(a.f) || std::isnan(b.f) ? NAN : std::fmax(a.f, b.f);
      break;
    default:
      r.f = std::isnan(a.f) || std::isnan(b.f) ? NAN : std::fmin(a.f, b.f);
      break;
    }
    return roundTo(r, type);
  }
  bool less = unsignedValue(a.i, type) < unsignedValue(b.i, type);
  switch (kind) {
  case ReductionKind::Add:
    r.i = a.i + b.i;
    break;
  case ReductionKind::Mul:
    r.i = a.i * b.i;
    break;
  case ReductionKind::Max:
    r.i = std::max(a.i, b.i);
    break;
  case ReductionKind::Min:
    r.i = std::min(a.i, b.i);
    break;
  case ReductionKind::UMax:
    r.i = less ? b.i : a.i;
    break;
  case ReductionKind::UMin:
    r.i = less ? a.i : b.i;
    break;
  case ReductionKind::And:
    r.i = a.i & b.i;
    break;
  case ReductionKind::Or:
    r.i = a.i | b.i;
    break;
  }
  return roundTo(r, type);
}

/// Runs a cluster's body over its domain. Reductions are found in the body's order, one pass over the reduced
/// dims each; what a pass computes from reductions still unknown is not used.
class Interpreter {
public:
  Interpreter(sched::ClusterOp cluster, ArrayRef<const HostTensor *> inputs, std::vector<HostTensor> &results)
      : cluster(cluster), inputs(inputs), results(results), block(cluster.getBody().front()) {
    for (Attribute attr : cluster.getInputMaps())
      inputMaps.push_back(cast<AffineMapAttr>(attr).getValue());
    for (Attribute attr : cluster.getOutputMaps())
      outputMaps.push_back(cast<AffineMapAttr>(attr).getValue());
    for (int64_t dim = 0; dim < (int64_t)cluster.getDomain().size(); ++dim)
      (llvm::is_contained(cluster.getReduced(), dim) ? reduced : parallel).push_back(dim);
    for (BlockArgument argument : block.getArguments())
      slots.try_emplace(argument, slots.size());
    for (Operation &op : block.without_terminator())
      slots.try_emplace(op.getResult(0), slots.size());
    values.resize(slots.size());
  }

  bool run() {
    for (Value output : cluster.getOutputs()) {
      auto type = cast<RankedTensorType>(output.getType());
      size_t width = type.getElementType().isInteger(1) ? 1 : type.getElementTypeBitWidth() / 8;
      results.push_back({type, std::vector<char>(type.getNumElements() * width)});
    }
    auto sizeOf = [&](ArrayRef<int64_t> dims) {
      return llvm::all_of(dims, [&](int64_t dim) { return cluster.getDomain()[dim] > 0; });
    };
    if (!sizeOf(parallel))
      return true;
    hasReducedPoints = sizeOf(reduced);
    Point point(cluster.getDomain().size(), 0);
    do {
      if (!runReduction(point))
        return false;
    } while (advance(point, cluster.getDomain(), parallel));
    return true;
  }

private:
  bool runReduction(Point point) {
    for (auto reduction : block.getOps<sched::ReduceOp>()) {
      Type type = reduction.getType();
      Scalar total = identityOf(reduction.getKind(), type);
      if (hasReducedPoints)
        do {
          if (!evaluateBody(point))
            return false;
          total = combine(reduction.getKind(), total, values[slots[reduction.getInput()]], type);
        } while (advance(point, cluster.getDomain(), reduced));
      values[slots[reduction.getResult()]] = total;
    }
    if (!hasReducedPoints)
      return evaluateBody(point) && write(point, true);
    do {
      if (!evaluateBody(point) || !write(point, false))
        return false;
    } while (advance(point, cluster.getDomain(), reduced));
    return true;
  }

  bool evaluateBody(ArrayRef<int64_t> point) {
    if (hasReducedPoints)
      for (auto [i, argument] : llvm::enumerate(block.getArguments()))
        values[slots[argument]] =
            load(*inputs[i], linearIndex(inputMaps[i], inputs[i]->type.getShape(), point));
    for (Operation &op : block.without_terminator()) {
      if (isa<sched::ReduceOp>(op))
        continue;
      Scalar &result = values[slots[op.getResult(0)]];
      if (auto index = dyn_cast<sched::IndexOp>(op)) {
        result.i = point[index.getDim()];
        continue;
      }
      SmallVector<Scalar, 4> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values[slots[operand]]);
      if (!interpretScalar(op, operands, result))
        return false;
    }
    return true;
  }

  bool write(ArrayRef<int64_t> point, bool reductionsOnly) {
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
      bool perPoint =
          llvm::any_of(reduced, [&, i = i](int64_t dim) { return outputMaps[i].isFunctionOfDim(dim); });
      if (!(reductionsOnly && perPoint))
        store(results[i], linearIndex(outputMaps[i], results[i].type.getShape(), point),
              values[slots[value]]);
    }
    return true;
  }

  static Scalar load(const HostTensor &tensor, int64_t at) {
    Scalar value;
    if (isa<FloatType>(tensor.type.getElementType()))
      value.f = tensor.floatAt(at);
    else
      value = roundTo(Scalar{.i = tensor.intAt(at)}, tensor.type.getElementType());
    return value;
  }

  sched::ClusterOp cluster;
  ArrayRef<const HostTensor *> inputs;
  std::vector<HostTensor> &results;
  Block &block;
  SmallVector<AffineMap> inputMaps, outputMaps;
  SmallVector<int64_t> parallel, reduced;
  llvm::DenseMap<Value, size_t> slots;
  std::vector<Scalar> values;
  bool hasReducedPoints = true;
};
} // namespace

bool kedge::interpret::interpretCluster(sched::ClusterOp cluster, ArrayRef<const HostTensor *> inputs,
                                        std::vector<HostTensor> &results) {
  return Interpreter(cluster, inputs, results).run();
}
