#include "passes/Import/DenseExperts.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "passes/Import/MatchUtils.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::raise {
namespace {
using namespace mlir;
using namespace kedge::onnx;
using Dims = SmallVector<int64_t>;

/// `slots` of `experts` for each token, with their weights: both [tokens, slots].
struct Routing {
  Value chosen, weights;
  int64_t tokens, slots, experts;
};

/// Before casts and reshapes, which change no number of an index.
Value indicesOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    auto cast = dyn_cast<CastOp>(op);
    if (!isa<ReshapeOp>(op) && !(cast && elementOf(cast.getX()).isInteger() && elementOf(v).isInteger()))
      break;
    v = op->getOperand(0);
  }
  return v;
}

/// Whether they are what TopK found among so many: then they differ from each other, and none is missing.
bool areFound(Value chosen, int64_t tokens, int64_t slots, int64_t experts) {
  Value found = indicesOf(chosen);
  auto top = found.getDefiningOp<TopKOp>();
  return top && found == top.getIndices() && (int64_t)top.getAxis() == 1 &&
         shapeOf(found) == ArrayRef<int64_t>{tokens, slots} && shapeOf(top.getX())[1] == experts;
}

/// g [T, E] out of zeros, with weights at the experts chosen.
std::optional<Routing> matchScattered(Value g) {
  auto scatter = defining<ScatterElementsOp>(g);
  if (!scatter || rankOf(g) != 2 || (int64_t)scatter.getAxis() != 1 || scatter.getReduction() != "none" ||
      !isSplat(scatter.getData(), 0) || rankOf(scatter.getIndices()) != 2)
    return std::nullopt;
  ArrayRef<int64_t> places = shapeOf(scatter.getIndices());
  if (!areFound(scatter.getIndices(), shapeOf(g)[0], places[1], shapeOf(g)[1]))
    return std::nullopt;
  return Routing{scatter.getIndices(), scatter.getUpdates(), places[0], places[1], shapeOf(g)[1]};
}

/// The indices [T, S] of a mask [T, S, E] that is one at them and zero elsewhere.
Value ofOneHot(Value mask) {
  mask = skip(mask);
  while (auto cast = mask.getDefiningOp<CastOp>())
    mask = skip(cast.getX());
  auto equal = mask.getDefiningOp<EqualOp>();
  auto hot = mask.getDefiningOp<OneHotOp>();
  if (hot && rankOf(mask) == 3 && (int64_t)hot.getAxis() == 2 && isSplat(hot.getOff(), 0) &&
      isSplat(hot.getOn(), 1))
    return hot.getIndices();
  if (!equal || rankOf(mask) != 3)
    return {};
  for (auto [indices, numbers] :
       {std::pair(equal.getA(), equal.getB()), std::pair(equal.getB(), equal.getA())}) {
    auto constant = defining<ConstantOp>(numbers);
    auto values = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
    if (!values || rankOf(indices) != 3 || shapeOf(indices)[2] != 1 ||
        shapeOf(numbers).back() != shapeOf(mask)[2] || values.getNumElements() != shapeOf(mask)[2])
      continue;
    int64_t next = 0;
    if (llvm::all_of(values.getValues<APInt>(), [&](const APInt &number) { return number == next++; }))
      return indices;
  }
  return {};
}

/// g [T, E] as the sum over S of one-hot masks times weights.
std::optional<Routing> matchSummed(Value g) {
  auto sum = defining<ReduceSumOp>(g);
  auto product = sum && sum.getAxes() == ArrayRef<int64_t>{1} ? defining<MulOp>(sum.getX()) : MulOp();
  if (!product || rankOf(product.getResult()) != 3 || rankOf(g) != 2)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(product.getResult());
  for (auto [mask, weights] :
       {std::pair(product.getA(), product.getB()), std::pair(product.getB(), product.getA())}) {
    Value chosen = ofOneHot(mask);
    if (!chosen || shapeOf(mask) != shape || shapeOf(weights) != ArrayRef<int64_t>{shape[0], shape[1], 1} ||
        !areFound(chosen, shape[0], shape[1], shape[2]))
      continue;
    return Routing{chosen, weights, shape[0], shape[1], shape[2]};
  }
  return std::nullopt;
}

/// Whether only dims of size 1 come or go.
bool keepsDims(ReshapeOp reshape) {
  auto without = [](Value v) {
    Dims shape(shapeOf(v));
    llvm::erase(shape, 1);
    return shape;
  };
  return without(reshape.getData()) == without(reshape.getResult());
}

/// The routing that `v` is a view of: [E, T, 1] if `expertsFirst`, else [T, E, 1].
std::optional<Routing> matchRouting(Value v, bool expertsFirst) {
  bool isTurned = false;
  for (;;) {
    v = skip(v);
    if (auto reshape = v.getDefiningOp<ReshapeOp>(); reshape && keepsDims(reshape)) {
      v = reshape.getData();
    } else if (auto transpose = v.getDefiningOp<TransposeOp>();
               transpose && transpose.getPerm() == ArrayRef<int64_t>{1, 0}) {
      isTurned = !isTurned;
      v = transpose.getData();
    } else {
      break;
    }
  }
  std::optional<Routing> routing = matchScattered(v);
  if (!routing)
    routing = matchSummed(v);
  return isTurned == expertsFirst ? routing : std::nullopt;
}

/// Computes of values [E, T, ...] what belongs to the experts chosen: [T, S, ...].
class Chooser {
public:
  Chooser(Operation *root, const Routing &routing) : builder_(root), loc_(root->getLoc()), routing_(routing) {
    chosen_ = reshaped(routing.chosen, {routing.tokens, routing.slots});
  }

  /// Null where a row of the result is not of one token and one expert.
  Value choose(Value v) {
    if (auto known = known_.find(v); known != known_.end())
      return known->second;
    Value made = isWhole(v) ? compute(v) : Value();
    return known_[v] = made;
  }

  /// The sum over the experts chosen of weights times `values`, as `type`.
  Value combine(Value values, Type type) {
    Value weights = reshaped(routing_.weights, {routing_.tokens, routing_.slots, 1});
    Value weighted = MulOp::create(builder_, loc_, values, weights);
    Value sum = ReduceSumOp::create(builder_, loc_, weighted, ArrayRef<int64_t>{1}, /*keepdims=*/false);
    return reshaped(sum, cast<RankedTensorType>(type).getShape());
  }

private:
  bool isWhole(Value v) const {
    return rankOf(v) == 3 && shapeOf(v)[0] == routing_.experts && shapeOf(v)[1] == routing_.tokens;
  }

  Value reshaped(Value v, ArrayRef<int64_t> shape) { return ReshapeOp::create(builder_, loc_, v, shape); }

  Value compute(Value v) {
    if (Value rows = sharedRows(v)) {
      const int64_t width = shapeOf(v)[2];
      return ExpandOp::create(builder_, loc_, reshaped(rows, {routing_.tokens, 1, width}),
                              ArrayRef<int64_t>{routing_.tokens, routing_.slots, width});
    }
    Operation *op = v.getDefiningOp();
    if (!op)
      return {};
    if (auto product = dyn_cast<MatMulOp>(op))
      return placed(op, chooseProduct(product));
    if (auto split = dyn_cast<SplitOp>(op))
      return choosePart(split, v);
    if (auto slice = dyn_cast<SliceOp>(op))
      return placed(op, chooseSlice(slice));
    if (op->hasTrait<ComputesEachElement>() || isa<SwishOp, GeluOp, train::SwigluOp>(op))
      return placed(op, chooseElements(op));
    return {};
  }

  static Value placed(Operation *op, Value made) {
    if (made)
      setPlace(made.getDefiningOp(), placeOf(op));
    return made;
  }

  /// Rows [T, K], or as many in other dims, that are the same for all experts.
  Value sharedRows(Value v) const {
    const int64_t width = shapeOf(v).back();
    v = skip(v);
    if (auto reshape = v.getDefiningOp<ReshapeOp>())
      v = skip(reshape.getData());
    auto fits = [&](Value rows) {
      return shapeOf(rows).back() == width &&
             ShapedType::getNumElements(shapeOf(rows)) == routing_.tokens * width;
    };
    Operation *op = v.getDefiningOp();
    // All copies are behind each other: what is repeated is a dim in front.
    auto tile = dyn_cast_or_null<TileOp>(op);
    if (tile && tile.getRepeats()[0] == routing_.experts && fits(tile.getInput()) &&
        llvm::all_of(tile.getRepeats().drop_front(), [](int64_t times) { return times == 1; }))
      return tile.getInput();
    auto expand = dyn_cast_or_null<ExpandOp>(op);
    if (expand && rankOf(v) > 1 && shapeOf(v)[0] == routing_.experts && fits(expand.getInput()) &&
        (rankOf(expand.getInput()) < rankOf(v) || shapeOf(expand.getInput())[0] == 1) &&
        ShapedType::getNumElements(shapeOf(v).drop_front()) == routing_.tokens * width)
      return expand.getInput();
    return {};
  }

  /// The left side of a product of each expert.
  Value tokensOf(Value v) const {
    ArrayRef<int64_t> shape = shapeOf(v);
    const bool isShared = shape.size() >= 2 && shape[shape.size() - 2] == routing_.tokens &&
                          (shape.size() == 2 || (shape.size() == 3 && shape[0] == 1));
    return isShared ? v : rankOf(v) == 3 ? sharedRows(v) : Value();
  }

  Value chooseProduct(MatMulOp product) {
    Value matrices = product.getB();
    if (product.getTransA() || rankOf(matrices) != 3 || shapeOf(matrices)[0] != routing_.experts)
      return {};
    const int64_t width = shapeOf(product.getA()).back(), places = routing_.tokens * routing_.slots;
    if (Value rows = tokensOf(product.getA()))
      return train::GroupedMatmulOp::create(builder_, loc_, reshaped(rows, {routing_.tokens, width}), chosen_,
                                            matrices, product.getTransB());
    Value rows = choose(product.getA());
    if (!rows)
      return {};
    Value grouped =
        train::GroupedMatmulOp::create(builder_, loc_, reshaped(rows, {places, width}),
                                       reshaped(chosen_, {places, 1}), matrices, product.getTransB());
    setPlace(grouped.getDefiningOp(), placeOf(product));
    return reshaped(grouped, {routing_.tokens, routing_.slots, shapeOf(product.getY())[2]});
  }

  /// Along the last dim.
  Value choosePart(SplitOp split, Value v) {
    Value whole = (int64_t)split.getAxis() == 2 ? choose(split.getInput()) : Value();
    if (!whole)
      return {};
    auto parts = SplitOp::create(builder_, loc_, whole, split.getAxis(), split.getSplit());
    setPlace(parts, placeOf(split));
    for (auto [part, made] : llvm::zip(split.getOutputs(), parts.getOutputs()))
      known_[part] = made;
    return known_[v];
  }

  Value chooseSlice(SliceOp slice) {
    ArrayRef<int64_t> shape = shapeOf(slice.getData());
    for (int64_t dim : {0, 1})
      if (shape.size() != 3 || shapeOf(slice.getResult())[dim] != shape[dim] || slice.getSteps()[dim] != 1)
        return {};
    Value whole = choose(slice.getData());
    if (!whole)
      return {};
    Dims ends(slice.getEnds());
    ends[0] = routing_.tokens, ends[1] = routing_.slots;
    return SliceOp::create(builder_, loc_, whole, slice.getStarts(), ends, slice.getSteps());
  }

  Value chooseElements(Operation *op) {
    if (op->getNumResults() != 1)
      return {};
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(chooseOperand(operand));
      if (!operands.back())
        return {};
    }
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    OperationState state(
        loc_, op->getName(), operands,
        {RankedTensorType::get({routing_.tokens, routing_.slots, type.getShape()[2]}, type.getElementType())},
        op->getAttrs());
    return builder_.create(state)->getResult(0);
  }

  /// What broadcasts to [E, T, N], as it broadcasts to [T, S, N].
  Value chooseOperand(Value v) {
    if (isWhole(v))
      return choose(v);
    Dims shape(3 - std::min<int64_t>(3, rankOf(v)), 1);
    llvm::append_range(shape, shapeOf(v));
    if (shape.size() != 3)
      return {};
    if (shape[0] == 1) // of all experts, of each token or of all
      return rankOf(v) < 2 || shape[1] == 1 ? v : reshaped(v, {routing_.tokens, 1, shape[2]});
    if (shape[0] != routing_.experts || shape[1] != 1)
      return {};
    return GatherOp::create(builder_, loc_, reshaped(v, {routing_.experts, shape[2]}), chosen_,
                            builder_.getI64IntegerAttr(0), IntegerAttr());
  }

  PlacedBuilder builder_;
  Location loc_;
  Routing routing_;
  Value chosen_;
  DenseMap<Value, Value> known_;
};

/// What is summed, [E, T, H], and how it is weighted.
struct WeightedSum {
  Value values;
  Routing routing;
};

/// ReduceSum over E of values times g [E, T, 1].
std::optional<WeightedSum> matchSum(ReduceSumOp sum) {
  auto product = sum.getAxes() == ArrayRef<int64_t>{0} ? defining<MulOp>(sum.getX()) : MulOp();
  if (!product || rankOf(product.getResult()) != 3)
    return std::nullopt;
  for (auto [values, weights] :
       {std::pair(product.getA(), product.getB()), std::pair(product.getB(), product.getA())}) {
    ArrayRef<int64_t> shape = shapeOf(product.getResult());
    if (shapeOf(values) != shape || shapeOf(weights) != ArrayRef<int64_t>{shape[0], shape[1], 1})
      continue;
    if (std::optional<Routing> routing = matchRouting(weights, /*expertsFirst=*/true))
      return WeightedSum{values, *routing};
  }
  return std::nullopt;
}

/// A product of values [T, H, E], which are a transposed [E, T, H], and g [T, E, 1].
std::optional<WeightedSum> matchProduct(MatMulOp product) {
  auto turned = defining<TransposeOp>(product.getA());
  if (!turned || product.getTransA() || product.getTransB() ||
      turned.getPerm() != ArrayRef<int64_t>{1, 2, 0} || rankOf(product.getB()) != 3 ||
      shapeOf(product.getB())[2] != 1)
    return std::nullopt;
  std::optional<Routing> routing = matchRouting(product.getB(), /*expertsFirst=*/false);
  return routing ? std::optional(WeightedSum{turned.getData(), *routing}) : std::nullopt;
}
} // namespace

Value chosenExperts(Operation *root, TargetKind target) {
  auto sum = dyn_cast<ReduceSumOp>(root);
  auto product = dyn_cast<MatMulOp>(root);
  std::optional<WeightedSum> found = sum ? matchSum(sum) : product ? matchProduct(product) : std::nullopt;
  if (!found || found->routing.slots >= found->routing.experts || found->routing.tokens < 2)
    return {};
  if (target == TargetKind::Cpu) {
    Chooser chooser(root, found->routing);
    if (Value values = chooser.choose(found->values))
      return chooser.combine(values, root->getResult(0).getType());
  }
  emitRemark(root->getLoc()) << "adds up " << found->routing.experts << " experts for each of "
                             << found->routing.tokens << " rows, of which " << found->routing.slots
                             << " count: "
                             << (target == TargetKind::Cpu
                                     ? "they are in no form of which these alone can be computed"
                                     : "grouped products are not available yet on CUDA");
  return {};
}

} // namespace kedge::raise
