#include "passes/Mesh/Experts/ExpertRows.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "passes/Mesh/Layout.h"
#include <cmath>
#include <numeric>

using namespace mlir;

namespace kedge::mesh {
namespace {
using namespace kedge::onnx;

Value integers(OpBuilder &builder, Location loc, Type element, ArrayRef<int64_t> shape,
               ArrayRef<int64_t> numbers) {
  SmallVector<APInt> values;
  for (int64_t number : numbers)
    values.emplace_back(element.getIntOrFloatBitWidth(), number, /*isSigned=*/true);
  return ConstantOp::create(builder, loc,
                            DenseElementsAttr::get(RankedTensorType::get(shape, element), values));
}

/// Experts of one token differ: no rank has more places of a token than experts.
int64_t mostOfToken(Value chosen, int64_t slots, int64_t own) {
  auto top = chosen.getDefiningOp<TopKOp>();
  const bool differ =
      top && chosen == top.getIndices() && static_cast<int64_t>(top.getAxis()) + 1 == rankOf(chosen);
  return differ ? std::min(slots, own) : slots;
}

/// Sizes of the leading dims in attributes that repeat a shape.
void patchSizes(OperationState &state, Operation *op, int64_t leading, int64_t rows) {
  ArrayRef<int64_t> before = shapeOf(op->getResult(0));
  for (StringRef name : {"shape", "ends"}) {
    auto sizes = op->getAttrOfType<DenseI64ArrayAttr>(name);
    if (!sizes || sizes.size() != static_cast<int64_t>(before.size()))
      continue;
    SmallVector<int64_t> patched(sizes.asArrayRef());
    for (int64_t dim = 0; dim < leading; ++dim)
      patched[dim] = dim == 0 ? rows : 1;
    state.attributes.set(name, DenseI64ArrayAttr::get(op->getContext(), patched));
  }
}
} // namespace

Value ExpertRows::rootOf(Value chosen) {
  while (auto reshape = chosen.getDefiningOp<ReshapeOp>())
    chosen = reshape.getData();
  return chosen;
}

ExpertRows::ExpertRows(Operation *first, Value chosen, int64_t experts, double share, dist::RankGroup group)
    : chosen_(chosen), count(experts), places(elementCount(shapeOf(chosen))), group(group) {
  const int64_t slots = shapeOf(chosen).back(), own = count / group.ranks;
  room = places / slots * mostOfToken(chosen, slots, own) * group.ranks;
  if (share > 0)
    room = std::min(room, static_cast<int64_t>(std::ceil(share * static_cast<double>(places))));
  takeLoad();
  PlacedBuilder b(first);
  const Location loc = first->getLoc();
  const Type element = elementOf(chosen);
  Value column = ReshapeOp::create(b, loc, chosen, ArrayRef<int64_t>{places, 1});
  counts = dist::AllGatherOp::create(b, loc, RankedTensorType::get({count * group.ranks}, b.getI64Type()),
                                     train::countChosen(b, loc, chosen, count), group)
               .getResult(0);
  Value within = ModOp::create(b, loc, column, integers(b, loc, element, {}, own));
  auto arrived = dist::DispatchOp::create(b, loc, RankedTensorType::get({room, 1}, element), within, chosen_,
                                          counts, count, group.ranks, own, group.axis.getValue(), sent());
  local_ = arrived.getMoved();
}

/// The rows of all ranks' tokens, as shares of them have experts of one rank.
void ExpertRows::takeLoad() {
  likely = places;
  const auto product = llvm::find_if(
      chosen_.getParentRegion()->getOps<train::GroupedMatmulOp>(), [&](train::GroupedMatmulOp op) {
        return op.getLoad() && train::chosenExperts(op.getExperts()) == chosen_;
      });
  if (product == chosen_.getParentRegion()->getOps<train::GroupedMatmulOp>().end())
    return;
  const ArrayRef<double> shares = *(*product).getLoad();
  const size_t own = shares.size() / static_cast<size_t>(group.ranks);
  double most = 0;
  for (size_t begin = 0; begin < shares.size(); begin += own) {
    const ArrayRef<double> ofRank = shares.slice(begin, own);
    most = std::max(most, std::accumulate(ofRank.begin(), ofRank.end(), 0.0));
  }
  likely = std::llround(most * static_cast<double>(group.ranks * places));
  hasLoad = true;
}

Value ExpertRows::someExperts(PlacedBuilder &builder) const {
  const Location loc = local_.getLoc();
  return MinOp::create(builder, loc, local_,
                       integers(builder, loc, elementOf(local_), {}, count / group.ranks - 1));
}

/// The fewest dims whose sizes make `rows`; -1: none do.
int64_t ExpertRows::leadingDims(ArrayRef<int64_t> shape, int64_t rows) const {
  int64_t product = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    product *= size;
    if (product == rows)
      return static_cast<int64_t>(dim) + 1;
  }
  return -1;
}

/// How it goes along the leading dims of the result, whose loops are `dims`.
std::optional<ExpertRows::Operand> ExpertRows::operandOf(Operation *op, const ShardingRule &rule,
                                                         unsigned number, ArrayRef<int64_t> dims) const {
  Value operand = op->getOperand(number);
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  int64_t each = 1;
  bool any = false, misses = false;
  for (auto [dim, loop] : llvm::enumerate(dims)) {
    if (loop == ShardingRule::kWhole)
      continue;
    const int found = ShardingRule::dimOf(rule.operands[number], static_cast<int>(loop));
    if (found == ShardingRule::kWhole) {
      each *= shape[dim];
      misses = true;
    } else if (found != static_cast<int>(dim) || misses ||
               rankOf(operand) != static_cast<int64_t>(shape.size())) {
      return std::nullopt;
    } else {
      any = true;
    }
  }
  return Operand{any ? each : 0};
}

/// Empty where rows of results follow from more than the same rows of operands.
std::optional<ExpertRows::RowOp> ExpertRows::rowOpOf(Operation *op) const {
  if (op->getNumResults() == 0 || isa<dist::DistDialect>(op->getDialect()))
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  RowOp row;
  row.leading = leadingDims(shape, places);
  const ShardingRule rule = row.leading < 0 ? ShardingRule() : ruleOf(op, group.ranks);
  if (rule.loops.empty())
    return std::nullopt;
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < row.leading; ++dim) {
    const int loop = shape[dim] == 1 ? ShardingRule::kWhole : rule.results[0][dim];
    if (shape[dim] != 1 &&
        (loop == ShardingRule::kWhole || rule.loops[loop].reduced || !rule.loops[loop].sections.empty()))
      return std::nullopt;
    for (auto [other, loops] : llvm::zip(op->getResults(), rule.results))
      if (shapeOf(other).size() <= static_cast<size_t>(dim) || shapeOf(other)[dim] != shape[dim] ||
          (loop != ShardingRule::kWhole && loops[dim] != loop))
        return std::nullopt;
    dims.push_back(loop);
  }
  for (unsigned number = 0; number < op->getNumOperands(); ++number) {
    std::optional<Operand> operand = operandOf(op, rule, number, dims);
    if (!operand)
      return std::nullopt;
    row.operands.push_back(*operand);
  }
  return row;
}

bool ExpertRows::isLocal(Value value) {
  if (known.contains(value))
    return true;
  if (auto found = locals.find(value); found != locals.end())
    return found->second;
  bool follows = false;
  Operation *op = value.getDefiningOp();
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    follows = leadingDims(shapeOf(value), places) > 0 &&
              leadingDims(shapeOf(reshape.getData()), places) > 0 && isLocal(reshape.getData());
  else if (op)
    if (std::optional<RowOp> row = rowOpOf(op))
      for (auto [operand, how] : llvm::zip(op->getOperands(), row->operands))
        follows = follows || (how.each == 1 && isLocal(operand));
  return locals[value] = follows;
}

/// As many numbers are sent of what it is made of, which another reader may need.
bool ExpertRows::isScaled(Value value) const {
  Operation *op = value.getDefiningOp();
  const auto isScalar = [](Value operand) { return elementCount(shapeOf(operand)) == 1; };
  return op && op->getNumOperands() == 2 && op->hasTrait<ComputesEachElement>() &&
         op->getOperand(0).getType() == value.getType() && isScalar(op->getOperand(1)) && rowOpOf(op);
}

/// [R, ...] as a value with so many leading dims has it.
Value ExpertRows::withDims(PlacedBuilder &builder, Value local, int64_t leading) const {
  SmallVector<int64_t> shape(shapeOf(local));
  shape.insert(shape.begin() + 1, static_cast<size_t>(leading - 1), 1);
  return builder.createOrFold<ReshapeOp>(local.getLoc(), local, ArrayRef<int64_t>(shape));
}

/// Of an operand whose dims behind `leading` are a row.
Value ExpertRows::rowsOf(PlacedBuilder &builder, Value operand, int64_t leading, int64_t each) {
  if (each == 1)
    return local(builder, operand, 1);
  SmallVector<int64_t> shape{places / each};
  llvm::append_range(shape, shapeOf(operand).drop_front(leading));
  return local(builder, builder.createOrFold<ReshapeOp>(operand.getLoc(), operand, ArrayRef<int64_t>(shape)),
               each);
}

Value ExpertRows::compute(PlacedBuilder &builder, Value value) {
  Operation *op = value.getDefiningOp();
  SmallVector<int64_t> shape{room};
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    Value from = local(builder, reshape.getData(), 1);
    llvm::append_range(shape, shapeOf(value).drop_front(leadingDims(shapeOf(value), places)));
    return known[value] = builder.createOrFold<ReshapeOp>(op->getLoc(), from, ArrayRef<int64_t>(shape));
  }
  const RowOp row = *rowOpOf(op);
  SmallVector<Value> operands;
  for (auto [operand, how] : llvm::zip(op->getOperands(), row.operands))
    operands.push_back(how.each == 0
                           ? operand
                           : withDims(builder, rowsOf(builder, operand, row.leading, how.each), row.leading));
  SmallVector<Type> types;
  for (Value result : op->getResults()) {
    SmallVector<int64_t> dims(shapeOf(result));
    for (int64_t dim = 0; dim < row.leading; ++dim)
      dims[dim] = dim == 0 ? room : 1;
    types.push_back(tensorType(result).clone(dims));
  }
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  state.attributes.erase(valuesName);
  patchSizes(state, op, row.leading, room);
  Operation *made = builder.create(state);
  for (auto [result, own] : llvm::zip(op->getResults(), made->getResults())) {
    SmallVector<int64_t> dims{room};
    llvm::append_range(dims, shapeOf(result).drop_front(row.leading));
    known[result] = builder.createOrFold<ReshapeOp>(op->getLoc(), own, ArrayRef<int64_t>(dims));
  }
  return known[value];
}

Value ExpertRows::send(PlacedBuilder &builder, Value value, int64_t rows) {
  const Location loc = value.getLoc();
  const int64_t width = elementCount(shapeOf(value)) / rows;
  Value flat = builder.createOrFold<ReshapeOp>(loc, value, ArrayRef<int64_t>{rows, width});
  Value moved = dist::DispatchOp::create(builder, loc, RankedTensorType::get({room, width}, elementOf(value)),
                                         flat, chosen_, counts, count, group.ranks, /*padding=*/0,
                                         group.axis.getValue(), sent())
                    .getMoved();
  SmallVector<int64_t> shape{room};
  llvm::append_range(shape, shapeOf(value).drop_front(leadingDims(shapeOf(value), rows)));
  return builder.createOrFold<ReshapeOp>(loc, moved, ArrayRef<int64_t>(shape));
}

Value ExpertRows::local(PlacedBuilder &builder, Value value, int64_t each) {
  if (Value found = known.lookup(value))
    return found;
  if (each == 1 && (isLocal(value) || isScaled(value)))
    return compute(builder, value);
  if (auto reshape = value.getDefiningOp<ReshapeOp>();
      reshape && leadingDims(shapeOf(reshape.getData()), places / each) > 0 &&
      shapeOf(reshape.getData()).back() == shapeOf(value).back()) {
    Value from = local(builder, reshape.getData(), each);
    SmallVector<int64_t> shape{room};
    llvm::append_range(shape, shapeOf(value).drop_front(leadingDims(shapeOf(value), places / each)));
    return known[value] = builder.createOrFold<ReshapeOp>(value.getLoc(), from, ArrayRef<int64_t>(shape));
  }
  return known[value] = send(builder, value, places / each);
}

void ExpertRows::replace(PlacedBuilder &builder, Value whole, Value made) {
  const Location loc = whole.getLoc();
  ArrayRef<int64_t> rest = shapeOf(whole).drop_front(leadingDims(shapeOf(whole), places));
  SmallVector<int64_t> shape{room};
  llvm::append_range(shape, rest);
  Value own = builder.createOrFold<ReshapeOp>(loc, made, ArrayRef<int64_t>(shape));
  const int64_t width = elementCount(rest);
  Value flat = builder.createOrFold<ReshapeOp>(loc, own, ArrayRef<int64_t>{room, width});
  Value back =
      dist::CombineOp::create(builder, loc, RankedTensorType::get({places, width}, elementOf(whole)), flat,
                              chosen_, counts, count, group.ranks, group.axis.getValue(), sent())
          .getMoved();
  back = builder.createOrFold<ReshapeOp>(loc, back, shapeOf(whole));
  whole.replaceAllUsesWith(back);
  known[back] = own;
}

} // namespace kedge::mesh
