#include "passes/Lower/Cluster/ClusterNest.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {

/// Replaces old dims by expressions of the new ones, in accesses and indices, and simplifies.
void substitute(ClusterNest &nest, ArrayRef<AffineExpr> oldDims, ArrayRef<int64_t> newSizes) {
  auto rewrite = [&](AffineExpr e) { return simplifyAffineExpr(e.replaceDims(oldDims), newSizes.size(), 0); };
  for (auto *list : {&nest.inputs, &nest.outputs})
    for (Access &access : *list)
      access.offset = rewrite(access.offset);
  for (AffineExpr &e : nest.index)
    e = rewrite(e);
}

AffineExpr linearOffset(AffineMap map, RankedTensorType tensor, MLIRContext *context) {
  AffineExpr offset = getAffineConstantExpr(0, context);
  int64_t stride = 1;
  for (int64_t at = tensor.getRank() - 1; at >= 0; --at) {
    offset = map.getResult(at) * stride + offset;
    // An empty dim has no address, but an outer one still tells elements apart.
    stride *= std::max<int64_t>(1, tensor.getDimSize(at));
  }
  return offset;
}

Access makeAccess(AffineMap map, Type type, MLIRContext *context) {
  auto tensor = cast<RankedTensorType>(type);
  Access access;
  access.offset = linearOffset(map, tensor, context);
  access.elements = tensor.getNumElements();
  access.element = tensor.getElementType();
  if (auto integer = dyn_cast<IntegerType>(access.element))
    access.element = IntegerType::get(context, integer.getWidth());
  return access;
}

/// Reads constant + sum of c * d; false where floordiv or mod is left.
bool readLinear(AffineExpr e, int64_t factor, Access &access) {
  if (auto constant = dyn_cast<AffineConstantExpr>(e)) {
    access.constant += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(e)) {
    access.coefficients[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (!binary)
    return false;
  if (e.getKind() == AffineExprKind::Add)
    return readLinear(binary.getLHS(), factor, access) && readLinear(binary.getRHS(), factor, access);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return e.getKind() == AffineExprKind::Mul && constant &&
         readLinear(binary.getLHS(), factor * constant.getValue(), access);
}

void findLinear(ClusterNest &nest) {
  for (auto *list : {&nest.inputs, &nest.outputs})
    for (Access &access : *list) {
      access.coefficients.assign(nest.rank(), 0);
      access.constant = 0;
      access.linear = readLinear(access.offset, 1, access);
    }
}

/// A divisor by which some access takes `dim` apart, one that divides its size; 0 when there is none.
int64_t splitOf(const ClusterNest &nest, unsigned dim) {
  int64_t divisor = 0;
  auto look = [&](AffineExpr e) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    if (!binary || (e.getKind() != AffineExprKind::FloorDiv && e.getKind() != AffineExprKind::Mod))
      return;
    auto lhs = dyn_cast<AffineDimExpr>(binary.getLHS());
    auto rhs = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (lhs && rhs && lhs.getPosition() == dim && rhs.getValue() > 1 &&
        nest.sizes[dim] % rhs.getValue() == 0 && rhs.getValue() < nest.sizes[dim])
      divisor = divisor == 0 ? rhs.getValue() : std::min(divisor, rhs.getValue());
  };
  for (auto *list : {&nest.inputs, &nest.outputs})
    for (const Access &access : *list)
      access.offset.walk(look);
  return divisor;
}

/// Simplifies `(d floordiv c)` and `(d mod c)` where the range of d decides them.
AffineExpr boundedSimplify(AffineExpr e, ArrayRef<int64_t> sizes);

std::pair<int64_t, int64_t> rangeOf(AffineExpr e, ArrayRef<int64_t> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return {constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(e))
    return {0, sizes[dim.getPosition()] - 1};
  auto binary = cast<AffineBinaryOpExpr>(e);
  auto [low, high] = rangeOf(binary.getLHS(), sizes);
  auto [rightLow, rightHigh] = rangeOf(binary.getRHS(), sizes);
  switch (e.getKind()) {
  case AffineExprKind::Add:
    return {low + rightLow, high + rightHigh};
  case AffineExprKind::Mul: {
    auto [least, most] = std::minmax({low * rightLow, low * rightHigh, high * rightLow, high * rightHigh});
    return {least, most};
  }
  case AffineExprKind::FloorDiv:
    return {llvm::divideFloorSigned(low, rightLow), llvm::divideFloorSigned(high, rightLow)};
  case AffineExprKind::Mod:
    return low >= 0 && high < rightLow ? std::pair(low, high) : std::pair(int64_t(0), rightLow - 1);
  default:
    return {INT64_MIN / 4, INT64_MAX / 4};
  }
}

/// Splits e into (multiple of `by`) and the rest.
void separate(AffineExpr e, int64_t by, AffineExpr &multiple, AffineExpr &rest) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (binary && e.getKind() == AffineExprKind::Add) {
    separate(binary.getLHS(), by, multiple, rest);
    separate(binary.getRHS(), by, multiple, rest);
  } else if (e.isMultipleOf(by)) {
    multiple = multiple + e;
  } else {
    rest = rest + e;
  }
}

void termsOf(AffineExpr e, SmallVectorImpl<AffineExpr> &terms) {
  if (e.getKind() == AffineExprKind::Add) {
    termsOf(cast<AffineBinaryOpExpr>(e).getLHS(), terms);
    termsOf(cast<AffineBinaryOpExpr>(e).getRHS(), terms);
  } else {
    terms.push_back(e);
  }
}

/// `term` as factor * (x floordiv or mod c).
bool readDivision(AffineExpr term, AffineExprKind kind, AffineExpr &x, int64_t &c, int64_t &factor) {
  factor = 1;
  if (auto product = dyn_cast<AffineBinaryOpExpr>(term); product && term.getKind() == AffineExprKind::Mul) {
    auto constant = dyn_cast<AffineConstantExpr>(product.getRHS());
    if (!constant)
      return false;
    factor = constant.getValue();
    term = product.getLHS();
  }
  auto division = dyn_cast<AffineBinaryOpExpr>(term);
  if (!division || term.getKind() != kind)
    return false;
  auto divisor = dyn_cast<AffineConstantExpr>(division.getRHS());
  x = division.getLHS();
  c = divisor ? divisor.getValue() : 0;
  return divisor != nullptr;
}

/// (x floordiv c) * c + x mod c is x: what reshapes leave behind.
AffineExpr rejoin(AffineExpr sum) {
  SmallVector<AffineExpr> terms;
  termsOf(sum, terms);
  for (AffineExpr &quotient : terms)
    for (AffineExpr &rest : terms) {
      AffineExpr x, y;
      int64_t c, d, f, g;
      if (!readDivision(quotient, AffineExprKind::FloorDiv, x, c, f) ||
          !readDivision(rest, AffineExprKind::Mod, y, d, g) || f != d * g || y.floorDiv(d) != x.floorDiv(c))
        continue;
      quotient = y * g;
      rest = getAffineConstantExpr(0, sum.getContext());
      AffineExpr joined = rest;
      for (AffineExpr term : terms)
        joined = joined + term;
      return rejoin(joined);
    }
  return sum;
}

AffineExpr boundedSimplify(AffineExpr e, ArrayRef<int64_t> sizes) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (!binary)
    return e;
  AffineExpr left = boundedSimplify(binary.getLHS(), sizes), right = boundedSimplify(binary.getRHS(), sizes);
  if (e.getKind() == AffineExprKind::Add)
    return rejoin(left + right);
  if (e.getKind() == AffineExprKind::Mul)
    return left * right;
  auto divisor = dyn_cast<AffineConstantExpr>(right);
  if (divisor) {
    AffineExpr multiple = getAffineConstantExpr(0, e.getContext()), rest = multiple;
    separate(left, divisor.getValue(), multiple, rest);
    auto [low, high] = rangeOf(rest, sizes);
    if (low >= 0 && high < divisor.getValue())
      return e.getKind() == AffineExprKind::Mod ? rest : multiple.floorDiv(right);
    // x = m d + r with r in [0, d) and d a divisor of c: x floordiv c = m floordiv (c / d), and so for mod.
    SmallVector<AffineExpr> terms;
    termsOf(left, terms);
    for (AffineExpr term : terms) {
      int64_t d = std::gcd(term.getLargestKnownDivisor(), divisor.getValue());
      if (d <= 1 || d == divisor.getValue())
        continue;
      multiple = rest = getAffineConstantExpr(0, e.getContext());
      separate(left, d, multiple, rest);
      auto [from, to] = rangeOf(rest, sizes);
      if (from < 0 || to >= d)
        continue;
      AffineExpr m = multiple.floorDiv(d);
      int64_t c = divisor.getValue() / d;
      return e.getKind() == AffineExprKind::Mod ? (m % c) * d + rest : m.floorDiv(c);
    }
  }
  return e.getKind() == AffineExprKind::Mod ? left % right : left.floorDiv(right);
}

void simplifyAll(ClusterNest &nest) {
  for (auto *list : {&nest.inputs, &nest.outputs})
    for (Access &access : *list)
      access.offset = simplifyAffineExpr(boundedSimplify(access.offset, nest.sizes), nest.rank(), 0);
  for (AffineExpr &e : nest.index)
    e = simplifyAffineExpr(boundedSimplify(e, nest.sizes), nest.rank(), 0);
}

/// Gives dim `dim` of size n the two dims (n / inner, inner).
void splitDim(ClusterNest &nest, unsigned dim, int64_t inner, MLIRContext *context) {
  SmallVector<AffineExpr> oldDims;
  for (unsigned d = 0; d < nest.rank(); ++d)
    oldDims.push_back(getAffineDimExpr(d + (d > dim), context));
  oldDims[dim] = getAffineDimExpr(dim, context) * inner + getAffineDimExpr(dim + 1, context);
  nest.sizes[dim] /= inner;
  nest.sizes.insert(nest.sizes.begin() + dim + 1, inner);
  nest.reduced.insert(nest.reduced.begin() + dim + 1, nest.reduced[dim]);
  substitute(nest, oldDims, nest.sizes);
  simplifyAll(nest);
}

void dropDim(ClusterNest &nest, unsigned dim, MLIRContext *context) {
  SmallVector<AffineExpr> oldDims;
  for (unsigned d = 0; d < nest.rank(); ++d)
    oldDims.push_back(d == dim ? getAffineConstantExpr(0, context)
                               : getAffineDimExpr(d - (d > dim), context));
  nest.sizes.erase(nest.sizes.begin() + dim);
  nest.reduced.erase(nest.reduced.begin() + dim);
  substitute(nest, oldDims, nest.sizes);
}

/// Whether dims `dim` and `dim + 1` are walked as one by every access.
bool canMerge(const ClusterNest &nest, unsigned dim) {
  if (nest.reduced[dim] != nest.reduced[dim + 1])
    return false;
  auto fits = [&](const Access &access) {
    if (access.linear)
      return access.coefficients[dim] == access.coefficients[dim + 1] * nest.sizes[dim + 1];
    return !access.dependsOn(dim) && !access.dependsOn(dim + 1);
  };
  return llvm::all_of(nest.inputs, fits) && llvm::all_of(nest.outputs, fits) &&
         llvm::none_of(nest.index, [&](AffineExpr e) {
           return e && (e.isFunctionOfDim(dim) || e.isFunctionOfDim(dim + 1));
         });
}

void mergeDims(ClusterNest &nest, unsigned dim, MLIRContext *context) {
  // Only accesses with equal walks are here, so the outer dim may stand for zero.
  int64_t outer = nest.sizes[dim];
  nest.sizes[dim + 1] *= outer;
  dropDim(nest, dim, context);
  findLinear(nest);
}

void forgetUnusedIndices(ClusterNest &nest) {
  llvm::SmallBitVector used(nest.index.size());
  nest.op.walk([&](sched::IndexOp index) { used.set(index.getDim()); });
  for (unsigned d = 0; d < nest.index.size(); ++d)
    if (!used.test(d))
      nest.index[d] = getAffineConstantExpr(0, nest.op.getContext());
}

llvm::SmallBitVector dimsOf(AffineExpr e, unsigned rank) {
  llvm::SmallBitVector bits(rank);
  for (unsigned d = 0; d < rank; ++d)
    if (e.isFunctionOfDim(d))
      bits.set(d);
  return bits;
}

/// Dims that all sums are taken over: those that no output of one walks along.
void findSummed(ClusterNest &nest) {
  SmallVector<const Access *> sums;
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (nest.sumOf(number))
      sums.push_back(&output);
  if (sums.empty())
    return;
  for (unsigned d = 0; d < nest.rank(); ++d)
    nest.summed.push_back(!nest.reduced[d] &&
                          llvm::none_of(sums, [&](const Access *sum) { return sum->dependsOn(d); }));
}

LogicalResult findDependences(ClusterNest &nest) {
  llvm::SmallBitVector reduced(nest.rank()), summed(nest.rank());
  for (unsigned d = 0; d < nest.rank(); ++d) {
    if (nest.reduced[d])
      reduced.set(d);
    if (!nest.summed.empty() && nest.summed[d])
      summed.set(d);
  }
  for (auto [argument, access] : llvm::zip(nest.body().getArguments(), nest.inputs))
    nest.dims[argument] = dimsOf(access.offset, nest.rank());
  for (Operation &op : nest.body().without_terminator()) {
    if (op.getNumRegions() || op.getNumResults() != 1)
      return op.emitOpError("is not allowed in a cluster's body");
    llvm::SmallBitVector bits(nest.rank());
    for (Value operand : op.getOperands())
      bits |= nest.dims.lookup(operand);
    if (auto index = dyn_cast<sched::IndexOp>(op))
      bits = dimsOf(nest.index[index.getDim()], nest.rank());
    if (isa<sched::ReduceOp>(op)) {
      Type type = op.getResult(0).getType();
      if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
        return op.emitOpError("reduces ") << type << "; widen it to f32 first";
      bits.reset(reduced);
    }
    if (isa<sched::SumOp>(op))
      bits.reset(summed);
    nest.dims[op.getResult(0)] = bits;
  }
  nest.findPhases();
  for (auto [number, output] : llvm::enumerate(nest.outputs))
    if (nest.dims.lookup(nest.yield().getOperand(number)).test(dimsOf(output.offset, nest.rank())))
      return nest.op.emitOpError("yields output ")
             << number << " from a value that varies along a dim its map does not name";
  return success();
}

/// Without reductions nothing is reduced; a dim that no output walks along carries equal values: one is
/// enough.
void dropReduction(ClusterNest &nest, MLIRContext *context) {
  nest.reduced.assign(nest.rank(), false);
  for (unsigned d = nest.rank(); d-- > 0;)
    if (llvm::none_of(nest.outputs, [&](const Access &output) { return output.dependsOn(d); }) &&
        nest.sizes[d] > 1)
      dropDim(nest, d, context);
}

} // namespace

bool ClusterNest::isPoint(const Access &access) const {
  for (unsigned d = 0; d < rank(); ++d)
    if (reduced[d] && access.dependsOn(d))
      return true;
  return false;
}

sched::SumOp ClusterNest::sumOf(unsigned output) const {
  return yield().getOperand(output).getDefiningOp<sched::SumOp>();
}

void ClusterNest::findPhases() {
  passes = 0;
  for (BlockArgument argument : body().getArguments())
    phase[argument] = 0;
  for (Operation &op : body().without_terminator()) {
    unsigned number = 0;
    for (Value operand : op.getOperands())
      number = std::max(number, phase.lookup(operand));
    if (sched::ReduceOp maximum = maximumOf.lookup(&op))
      number = passOf(maximum);
    if (isa<sched::ReduceOp>(op))
      passes = std::max(passes, ++number);
    phase[op.getResult(0)] = number;
  }
}

int64_t ClusterNest::reductionCount() const {
  auto reductions = body().getOps<sched::ReduceOp>();
  return std::distance(reductions.begin(), reductions.end());
}

int64_t ClusterNest::bodySize() const {
  int64_t size = inputs.size() + outputs.size();
  for (Operation &op : body().without_terminator())
    size += op.getName().getDialectNamespace() == "math" ? 8 : 1;
  return size;
}

FailureOr<ClusterNest> ClusterNest::of(sched::ClusterOp op) {
  MLIRContext *context = op.getContext();
  ClusterNest nest;
  nest.op = op;
  nest.sizes.assign(op.getDomain().begin(), op.getDomain().end());
  nest.reduced.assign(nest.sizes.size(), false);
  for (int64_t dim : op.getReduced())
    nest.reduced[dim] = true;
  for (auto [map, input] : llvm::zip(op.getInputMaps(), op.getInputs()))
    nest.inputs.push_back(makeAccess(cast<AffineMapAttr>(map).getValue(), input.getType(), context));
  for (auto [map, output] : llvm::zip(op.getOutputMaps(), op.getOutputs()))
    nest.outputs.push_back(makeAccess(cast<AffineMapAttr>(map).getValue(), output.getType(), context));
  for (unsigned d = 0; d < nest.rank(); ++d)
    nest.index.push_back(getAffineDimExpr(d, context));
  forgetUnusedIndices(nest);
  simplifyAll(nest);
  if (op.getBody().front().getOps<sched::ReduceOp>().empty())
    dropReduction(nest, context);

  for (unsigned d = nest.rank(); d-- > 0;)
    if (nest.sizes[d] == 1)
      dropDim(nest, d, context);
  for (unsigned d = 0; d < nest.rank();)
    if (int64_t inner = splitOf(nest, d))
      splitDim(nest, d, inner, context);
    else
      ++d;
  findLinear(nest);
  for (unsigned d = nest.rank(); d-- > 1;)
    if (canMerge(nest, d - 1))
      mergeDims(nest, d - 1, context);
  if (nest.rank() == 0) {
    nest.sizes.push_back(1);
    nest.reduced.push_back(false);
  }
  findLinear(nest);
  findSummed(nest);
  if (failed(findDependences(nest)))
    return failure();
  return nest;
}
