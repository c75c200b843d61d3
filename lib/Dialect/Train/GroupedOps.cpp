#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
/// T tokens of `width` numbers with S places each.
struct Places {
  int64_t tokens, slots, width;
};

FailureOr<Places> placesOf(std::optional<Location> loc, Value x, Value experts) {
  ArrayRef<int64_t> rows = shapeOf(x), places = shapeOf(experts);
  if (rows.size() != 2 || places.size() != 2 || rows[0] != places[0] ||
      !elementOf(experts).isSignlessInteger())
    return emitOptionalError(loc, "rows ", x.getType(), " and experts ", experts.getType(),
                             " do not fit: expected [T, K] and integers [T, S]");
  return Places{rows[0], places[1], rows[1]};
}

Value reshaped(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  return onnx::ReshapeOp::create(builder, loc, value, shape);
}
} // namespace

LogicalResult GroupedMatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  FailureOr<Places> places = placesOf(loc, adaptor.getX(), adaptor.getExperts());
  if (failed(places))
    return failure();
  ArrayRef<int64_t> w = shapeOf(adaptor.getW());
  const bool transB = adaptor.getTransB();
  if (w.size() != 3 || w[transB ? 2 : 1] != places->width ||
      elementOf(adaptor.getW()) != elementOf(adaptor.getX()))
    return emitOptionalError(loc, "matrices ", adaptor.getW().getType(), " do not fit rows ",
                             adaptor.getX().getType(), ": expected [E, K, N], with transB [E, N, K]");
  types.push_back(
      RankedTensorType::get({places->tokens, places->slots, w[transB ? 1 : 2]}, elementOf(adaptor.getX())));
  return success();
}

LogicalResult GroupedMatmulGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  FailureOr<Places> places = placesOf(loc, adaptor.getX(), adaptor.getExperts());
  if (failed(places))
    return failure();
  ArrayRef<int64_t> dY = shapeOf(adaptor.getDY());
  if (dY.size() != 3 || dY[0] != places->tokens || dY[1] != places->slots ||
      elementOf(adaptor.getDY()) != elementOf(adaptor.getX()))
    return emitOptionalError(loc, "the gradient ", adaptor.getDY().getType(), " does not fit rows ",
                             adaptor.getX().getType(), " and experts ", adaptor.getExperts().getType());
  SmallVector<int64_t> shape{static_cast<int64_t>(adaptor.getCount()), places->width, dY[2]};
  if (adaptor.getTransB())
    std::swap(shape[1], shape[2]);
  types.push_back(RankedTensorType::get(shape, elementOf(adaptor.getX())));
  return success();
}

Value train::chosenExperts(Value experts) {
  while (auto reshape = experts.getDefiningOp<onnx::ReshapeOp>())
    experts = reshape.getData();
  return experts;
}

SmallVector<ExpertLayer> train::expertLayers(Operation *function) {
  SmallVector<ExpertLayer> layers;
  llvm::StringSet<> names;
  function->walk([&](GroupedMatmulOp product) {
    PlaceAttr place = placeOf(product);
    Value chosen = chosenExperts(product.getExperts());
    if (!place || place.getPhase() != TrainingPhase::Forward ||
        llvm::any_of(layers, [&](const ExpertLayer &layer) { return layer.chosen == chosen; }))
      return;
    const std::string own = (place.getModule().empty() ? place.getNode() : place.getModule()).str();
    std::string name = own;
    for (int64_t number = 1; !names.insert(name).second; ++number)
      name = own + "." + std::to_string(number);
    layers.push_back({name, chosen, product});
  });
  return layers;
}

/// Sums of rows that have a one at their expert.
Value train::countChosen(OpBuilder &builder, Location loc, Value chosen, int64_t count) {
  const Type element = elementOf(chosen);
  const auto numbers = [&](ArrayRef<int64_t> shape, ArrayRef<int64_t> given) {
    SmallVector<APInt> values;
    for (int64_t number : given)
      values.emplace_back(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(number));
    return onnx::ConstantOp::create(builder, loc,
                                    DenseElementsAttr::get(RankedTensorType::get(shape, element), values));
  };
  Value column = reshaped(builder, loc, chosen, {tensorType(chosen).getNumElements(), 1});
  Value fromFirst =
      onnx::ModOp::create(builder, loc, column, numbers({}, {count})); // negative ones count from the end
  Value isOf = onnx::EqualOp::create(builder, loc, fromFirst,
                                     numbers({1, count}, llvm::to_vector(llvm::seq<int64_t>(0, count))));
  Value ones = onnx::CastOp::create(builder, loc, isOf, TypeAttr::get(builder.getI64Type()));
  return onnx::ReduceSumOp::create(builder, loc, ones, ArrayRef<int64_t>{0}, /*keepdims=*/false);
}

bool GroupedMatmulOp::isDifferentiableOperand(unsigned index) { return index != 1; }

/// A token's gradient is the sum over its places, each of which is a token of one place here.
LogicalResult GroupedMatmulOp::buildGradient(OpBuilder &builder, ValueRange dY,
                                             SmallVectorImpl<Value> &operandGrads) {
  const Location loc = getLoc();
  const int64_t tokens = shapeOf(getExperts())[0], slots = shapeOf(getExperts())[1],
                width = shapeOf(getX())[1];
  Value rows = reshaped(builder, loc, dY[0], {tokens * slots, shapeOf(getY())[2]});
  Value experts = reshaped(builder, loc, getExperts(), {tokens * slots, 1});
  Value dX = GroupedMatmulOp::create(builder, loc, rows, experts, getW(), !getTransB(), getSkips(),
                                     getExpectedAttr(), getLoadAttr());
  if (slots == 1)
    dX = reshaped(builder, loc, dX, {tokens, width});
  else
    dX = onnx::ReduceSumOp::create(builder, loc, reshaped(builder, loc, dX, {tokens, slots, width}),
                                   ArrayRef<int64_t>{1}, /*keepdims=*/false);
  Value dW = GroupedMatmulGradOp::create(builder, loc, getX(), getExperts(), dY[0], shapeOf(getW())[0],
                                         getTransB(), getSkips(), getExpectedAttr(), getLoadAttr());
  operandGrads.append({dX, Value(), dW});
  return success();
}

bool GroupedMatmulOp::hasKernelOn(TargetKind target) { return target == TargetKind::Cpu; }
bool GroupedMatmulGradOp::hasKernelOn(TargetKind target) { return target == TargetKind::Cpu; }

/// A matrix for each place.
LogicalResult GroupedMatmulOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  const Location loc = getLoc();
  const int64_t tokens = shapeOf(getX())[0], width = shapeOf(getX())[1];
  Value all = getW();
  if (getSkips()) { // the matrix of those that have no expert
    auto type = cast<RankedTensorType>(all.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = 1;
    Value none = splat(builder, loc, type.clone(shape), 0.0);
    all = onnx::ConcatOp::create(builder, loc, ValueRange{all, none}, 0);
  }
  Value matrices =
      onnx::GatherOp::create(builder, loc, all, getExperts(), builder.getI64IntegerAttr(0), IntegerAttr());
  Value rows = reshaped(builder, loc, getX(), {tokens, 1, 1, width});
  Value products =
      onnx::MatMulOp::create(builder, loc, rows, matrices, /*transA=*/false, /*transB=*/getTransB());
  results.push_back(reshaped(builder, loc, products, shapeOf(getY())));
  return success();
}

/// A matrix for each place, which are summed by expert.
LogicalResult GroupedMatmulGradOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  const Location loc = getLoc();
  const int64_t tokens = shapeOf(getX())[0], width = shapeOf(getX())[1];
  SmallVector<int64_t> columns(shapeOf(getDY()));
  columns.insert(columns.begin() + 2, 1);
  Value rows = reshaped(builder, loc, getX(), {tokens, 1, 1, width});
  Value gradient = reshaped(builder, loc, getDY(), columns);
  if (getTransB())
    std::swap(rows, gradient);
  Value products = onnx::MatMulOp::create(builder, loc, rows, gradient, /*transA=*/true, /*transB=*/false);
  SmallVector<int64_t> shape(shapeOf(getDW()));
  shape[0] += getSkips();
  Value sums = GatherGradOp::create(builder, loc, products, getExperts(), builder.getI64IntegerAttr(0),
                                    IntegerAttr(), builder.getDenseI64ArrayAttr(shape));
  if (getSkips())
    sums = onnx::SliceOp::create(builder, loc, sums, ArrayRef<int64_t>{0, 0, 0}, shapeOf(getDW()),
                                 ArrayRef<int64_t>{1, 1, 1});
  results.push_back(sums);
  return success();
}
