#include "passes/Mesh/MatmulHalves.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace kedge::mesh {

using namespace onnx;

namespace {

constexpr int64_t kPermutation[] = {1, 0, 2, 3};

bool isAlongTensor(const dist::RankGroup &group) { return group.axis.getValue() == dist::tensorAxis; }

bool isExchange(Operation *op) {
  auto transpose = dyn_cast_or_null<TransposeOp>(op);
  return transpose && transpose.getPerm() == ArrayRef(kPermutation);
}

/// Rows times a matrix, each row by itself.
bool multipliesRows(Operation *op) {
  if (!op || !isMatmul(op))
    return false;
  auto transposed = op->getAttrOfType<BoolAttr>("transA");
  return !(transposed && transposed.getValue()) && rankOf(op->getOperand(1)) == 2 &&
         rankOf(op->getOperand(0)) >= 2 && (op->getNumOperands() < 3 || rankOf(op->getOperand(2)) <= 1);
}

RankedTensorType typeLike(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, elementOf(value));
}

Value reshape(OpBuilder &b, Value value, ArrayRef<int64_t> shape) {
  return shapeOf(value) == shape ? value : ReshapeOp::create(b, value.getLoc(), value, shape).getResult();
}

/// Both halves of rows of so many columns.
SplitOp splitRows(OpBuilder &b, Value value, const HalvedRows &rows, int64_t columns) {
  Value folded = reshape(b, value, rows.shape(columns, false));
  const int64_t half = shapeOf(folded)[rows.dim()] / 2;
  return SplitOp::create(b, value.getLoc(), folded, rows.dim(), ArrayRef<int64_t>{half, half});
}

/// The same product of some of the rows.
Operation *multiply(OpBuilder &b, Operation *product, Value some, const HalvedRows &rows) {
  IRMapping mapping;
  mapping.map(product->getOperand(0), some);
  Operation *made = b.clone(*product, mapping);
  made->removeDiscardableAttr(valuesName);
  Value result = product->getResult(0);
  made->getResult(0).setType(typeLike(result, rows.shape(shapeOf(result).back(), true)));
  return made;
}

dist::ReduceScatterOp sendSum(OpBuilder &b, dist::ReduceScatterOp whole, Value half, const HalvedRows &rows) {
  RankedTensorType type = rows.sentHalf();
  Value sent = half;
  if (rows.isTransposed()) {
    ArrayRef<int64_t> shape = type.getShape();
    sent = TransposeOp::create(b, half.getLoc(), reshape(b, half, {shape[1], shape[0], shape[2], shape[3]}),
                               ArrayRef(kPermutation));
  }
  auto sum = dist::ReduceScatterOp::create(b, whole.getLoc(), ValueRange(sent), whole.group());
  if (auto order = whole.getOrderAttr())
    sum.setOrderAttr(order);
  return sum;
}

/// In one dimension.
dist::AllGatherOp gatherHalf(OpBuilder &b, dist::AllGatherOp whole, Value half, const HalvedRows &rows) {
  return dist::AllGatherOp::create(b, whole.getLoc(), TypeRange(rows.sentHalf()), ValueRange(half),
                                   whole.group());
}

Value rowsOfGathered(OpBuilder &b, dist::AllGatherOp gathered, const HalvedRows &rows) {
  Value value = gathered.getResult(0);
  if (rows.isTransposed())
    value = TransposeOp::create(b, value.getLoc(), value, ArrayRef(kPermutation));
  return reshape(b, value, rows.shape(rows.columns, true));
}

Value join(OpBuilder &b, Location loc, ArrayRef<Value> halves, int64_t dim) {
  return ConcatOp::create(b, loc, ValueRange(halves), dim);
}

SplitOp splitFlat(OpBuilder &b, Value value) {
  const int64_t half = tensorType(value).getNumElements() / 2;
  return SplitOp::create(b, value.getLoc(), value, 0, ArrayRef<int64_t>{half, half});
}

/// The value behind views that nothing else reads.
Value behindReshapes(Value value) {
  while (auto op = value.hasOneUse() ? value.getDefiningOp<ReshapeOp>() : ReshapeOp())
    value = op.getData();
  return value;
}

/// Values of the operands' types, in a block of their own.
IRMapping placeholders(Block &block, Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, block.addArgument(operand.getType(), op->getLoc()));
  return mapping;
}

} // namespace

bool HalvedRows::isDivisible() const {
  return sent && rows % (ranks * before) == 0 && (isTransposed() ? before : rows / ranks) % 2 == 0;
}

SmallVector<int64_t> HalvedRows::shape(int64_t width, bool isHalf) const {
  const int64_t parts = isHalf ? 2 : 1;
  if (isTransposed())
    return {before / parts, rows / before, width};
  return {ranks, rows / ranks / parts, width};
}

RankedTensorType HalvedRows::sentHalf() const {
  SmallVector<int64_t> half(sent.getShape());
  if (isTransposed())
    half[1] /= 2;
  else
    half = shape(columns, true);
  return RankedTensorType::get(half, sent.getElementType());
}

std::optional<ScatteredMatmul> ScatteredMatmul::match(Operation *op) {
  auto sum = dyn_cast<dist::ReduceScatterOp>(op);
  if (!sum || sum.getInputs().size() != 1 || !isAlongTensor(sum.group()))
    return std::nullopt;
  ScatteredMatmul found{.product = nullptr, .sum = sum, .rows = {}};
  Value value = behindReshapes(sum.getInputs().front());
  if (value.hasOneUse() && isExchange(value.getDefiningOp())) {
    found.rows.before = shapeOf(value)[1];
    value = behindReshapes(value.getDefiningOp()->getOperand(0));
  }
  found.product = value.hasOneUse() ? value.getDefiningOp() : nullptr;
  if (!multipliesRows(found.product))
    return std::nullopt;
  HalvedRows &rows = found.rows;
  rows.ranks = static_cast<int64_t>(sum.getRanks());
  rows.columns = shapeOf(value).back();
  rows.rows = tensorType(value).getNumElements() / rows.columns;
  rows.sent = tensorType(sum.getInputs().front());
  if (rows.isTransposed() && rows.sent.getRank() != 4)
    return std::nullopt;
  return rows.isDivisible() ? std::optional(found) : std::nullopt;
}

void ScatteredMatmul::halve() {
  PlacedBuilder builder(sum);
  builder.enter(placeOf(product));
  Value left = product->getOperand(0);
  SplitOp parts = splitRows(builder, left, rows, shapeOf(left).back());
  SmallVector<Value> sums;
  for (Value part : parts.getOutputs()) {
    Operation *made = multiply(builder, product, part, rows);
    sums.push_back(sendSum(builder, sum, made->getResult(0), rows).getResult(0));
  }
  sum.getResult(0).replaceAllUsesWith(join(builder, sum.getLoc(), sums, 0));
  for (Operation *op = sum; op;) { // the product, and what was between them
    Operation *before = op == product ? nullptr : op->getOperand(0).getDefiningOp();
    op->erase();
    op = before;
  }
}

Halves ScatteredMatmul::sample(Block &block) {
  OpBuilder builder(product->getContext());
  builder.setInsertionPointToEnd(&block);
  IRMapping mapping = placeholders(block, product);
  Operation *whole = builder.clone(*product, mapping);
  SplitOp parts = splitRows(builder, whole->getOperand(0), rows, shapeOf(whole->getOperand(0)).back());
  Operation *half = multiply(builder, whole, parts.getOutputs().front(), rows);
  dist::ReduceScatterOp sent = sendSum(builder, sum, half->getResult(0), rows);
  Value joined = join(builder, sum.getLoc(), {sent.getResult(0), sent.getResult(0)}, 0);
  return {sent, {half}, {parts, joined.getDefiningOp()}};
}

std::optional<GatheredMatmuls> GatheredMatmuls::match(Operation *op) {
  auto gather = dyn_cast<dist::AllGatherOp>(op);
  if (!gather || gather.getInputs().size() != 1 || !isAlongTensor(gather.group()))
    return std::nullopt;
  GatheredMatmuls found{.gather = gather, .views = {}, .products = {}, .others = {}, .rows = {}};
  HalvedRows &rows = found.rows;
  Value value = gather.getResult(0);
  rows.ranks = static_cast<int64_t>(gather.getRanks());
  rows.sent = tensorType(value);
  if (rows.sent.getRank() != 4 || rankOf(gather.getInputs().front()) != 1)
    return std::nullopt;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (isExchange(user) && !rows.isTransposed())
      rows.before = shapeOf(value)[1];
    else if (!isa<ReshapeOp>(user))
      break;
    found.views.push_back(user);
    value = user->getResult(0);
  }
  for (Operation *user : value.getUsers())
    (multipliesRows(user) && user->getOperand(0) == value && user->getOperand(1) != value ? found.products
                                                                                          : found.others)
        .push_back(user);
  const auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  llvm::sort(found.products, isBefore);
  llvm::sort(found.others, isBefore);
  if (found.products.empty())
    return std::nullopt;
  rows.columns = shapeOf(value).back();
  rows.rows = tensorType(value).getNumElements() / rows.columns;
  // What is gathered for others of the same part of the step is there for products, too.
  const auto phaseOf = [](Operation *user) {
    PlaceAttr place = placeOf(user);
    return place ? place.getPhase() : TrainingPhase::Forward;
  };
  Operation *first = found.products.front();
  for (Operation *other : found.others)
    if (phaseOf(other) == phaseOf(first))
      return std::nullopt;
  for (Operation *product : found.products)
    for (Value operand : product->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          phaseOf(product) != phaseOf(first) || (producer && !producer->isBeforeInBlock(first)))
        return std::nullopt;
  return rows.isDivisible() ? std::optional(found) : std::nullopt;
}

void GatheredMatmuls::halve() {
  PlacedBuilder builder(products.front(), placeOf(gather));
  SplitOp parts = splitFlat(builder, gather.getInputs().front());
  SmallVector<dist::AllGatherOp> gathered;
  for (Value part : parts.getOutputs())
    gathered.push_back(gatherHalf(builder, gather, part, rows));
  SmallVector<SmallVector<Value>> made(products.size());
  for (dist::AllGatherOp half : gathered) {
    builder.enter(placeOf(gather));
    Value some = rowsOfGathered(builder, half, rows);
    for (auto [product, results] : llvm::zip(products, made)) {
      builder.enter(placeOf(product));
      results.push_back(multiply(builder, product, some, rows)->getResult(0));
    }
  }
  for (auto [product, results] : llvm::zip(products, made)) {
    builder.enter(placeOf(product));
    Value old = product->getResult(0);
    Value joined = reshape(builder, join(builder, product->getLoc(), results, rows.dim()), shapeOf(old));
    giveValueNote(joined, valueNoteOf(old));
    old.replaceAllUsesWith(joined);
  }
  for (Operation *product : products)
    product->erase();
  if (others.empty()) {
    for (Operation *view : llvm::reverse(views))
      view->erase();
    gather->erase();
    return;
  }
  views.insert(views.begin(), gather);
  for (Operation *view : views) {
    view->moveBefore(others.front());
    setPlace(view, placeOf(others.front()));
  }
}

Halves GatheredMatmuls::sample(Block &block) {
  OpBuilder builder(gather->getContext());
  builder.setInsertionPointToEnd(&block);
  Value part = block.addArgument(gather.getInputs().front().getType(), gather->getLoc());
  SplitOp parts = splitFlat(builder, part);
  dist::AllGatherOp half = gatherHalf(builder, gather, parts.getOutputs().front(), rows);
  Halves found{half, {}, {parts}};
  Value some = rowsOfGathered(builder, half, rows);
  for (Operation *product : products) {
    IRMapping mapping = placeholders(block, product);
    Operation *whole = builder.clone(*product, mapping);
    Operation *made = multiply(builder, whole, some, rows);
    found.products.push_back(made);
    Value one = made->getResult(0);
    found.copies.push_back(join(builder, product->getLoc(), {one, one}, rows.dim()).getDefiningOp());
  }
  return found;
}

} // namespace kedge::mesh
