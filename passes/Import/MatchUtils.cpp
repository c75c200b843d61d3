#include "passes/Import/MatchUtils.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

Value raise::skip(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    bool sameType = op->getNumOperands() > 0 && op->getOperand(0).getType() == v.getType();
    auto identity = dyn_cast<IdentityOp>(op);
    bool nothing =
        (identity && !identity.getStopsGradient()) || (sameType && isa<CastOp, ReshapeOp, ExpandOp>(op));
    if (auto dropout = dyn_cast<DropoutOp>(op))
      nothing = v == op->getResult(0) && (!dropout.getTrainingMode() || dropout.getRatio().isZero());
    if (!nothing)
      break;
    v = op->getOperand(0);
  }
  return v;
}

std::optional<double> raise::splatOf(Value v) {
  v = skip(v);
  while (auto shaped = v.getDefiningOp()) {
    if (!isa<ReshapeOp, ExpandOp>(shaped))
      break;
    v = skip(shaped->getOperand(0));
  }
  auto constant = v.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || dense.empty() || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType())) {
    APFloat value = dense.getSplatValue<APFloat>();
    bool loses = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  }
  if (auto type = dyn_cast<IntegerType>(dense.getElementType())) {
    APInt value = dense.getSplatValue<APInt>();
    return type.isUnsigned() || type.isInteger(1) ? value.roundToDouble(false) : value.roundToDouble(true);
  }
  return std::nullopt;
}

bool raise::isNear(double a, double b) {
  return std::abs(a - b) <= 1e-4 * std::max(std::abs(a), std::abs(b));
}

bool raise::isSplat(Value v, double number) {
  auto value = splatOf(v);
  return value && isNear(*value, number);
}

bool raise::same(Value a, Value b, unsigned depth) {
  a = skip(a);
  b = skip(b);
  if (a == b)
    return true;
  auto left = dyn_cast<OpResult>(a), right = dyn_cast<OpResult>(b);
  if (!left || !right || depth == 0 || a.getType() != b.getType() ||
      left.getResultNumber() != right.getResultNumber())
    return false;
  Operation *p = left.getOwner(), *q = right.getOwner();
  if (p->getName() != q->getName() || p->getNumOperands() != q->getNumOperands() || !isMemoryEffectFree(p) ||
      p->getNumRegions() || attributesWithoutPlace(p) != attributesWithoutPlace(q) ||
      p->getPropertiesAsAttribute() != q->getPropertiesAsAttribute())
    return false;
  for (auto [x, y] : llvm::zip(p->getOperands(), q->getOperands()))
    if (!same(x, y, depth - 1))
      return false;
  return true;
}

SmallVector<Operation *> raise::usersOf(Value v) {
  SmallVector<Operation *> users;
  for (Operation *user : v.getUsers()) {
    if (user->getNumResults() > 0 && user->getOperand(0) == v && skip(user->getResult(0)) == skip(v))
      users.append(usersOf(user->getResult(0)));
    else if (!llvm::is_contained(users, user))
      users.push_back(user);
  }
  return users;
}

Operation *raise::onlyUser(Value v) {
  auto users = usersOf(v);
  return users.size() == 1 ? users[0] : nullptr;
}

Value raise::otherOperand(Operation *user, Value v) {
  if (user->getNumOperands() != 2)
    return {};
  bool first = skip(user->getOperand(0)) == skip(v), second = skip(user->getOperand(1)) == skip(v);
  if (first == second)
    return {};
  return user->getOperand(first ? 1 : 0);
}

raise::Scaled raise::withoutScale(Value v) {
  Scaled result{skip(v)};
  while (Operation *op = result.value.getDefiningOp()) {
    if (!isa<MulOp, DivOp>(op))
      break;
    auto right = splatOf(op->getOperand(1)), left = splatOf(op->getOperand(0));
    Value rest = right ? op->getOperand(0) : op->getOperand(1);
    if ((!right && (!left || isa<DivOp>(op))) || rest.getType() != result.value.getType())
      break;
    double number = right ? *right : *left;
    result.scale = isa<DivOp>(op) ? result.scale / number : result.scale * number;
    result.value = skip(rest);
  }
  return result;
}

namespace {
using Polynomial = std::array<double, 4>;

std::optional<Polynomial> multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial product{};
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned j = 0; j < 4; ++j) {
      if (a[i] == 0 || b[j] == 0)
        continue;
      if (i + j > 3)
        return std::nullopt;
      product[i + j] += a[i] * b[j];
    }
  return product;
}
} // namespace

std::optional<Polynomial> raise::polynomialOf(Value v, Value x, unsigned depth) {
  v = skip(v);
  if (v == skip(x))
    return Polynomial{0, 1, 0, 0};
  if (auto number = splatOf(v))
    return Polynomial{*number, 0, 0, 0};
  Operation *op = v.getDefiningOp();
  if (!op || depth == 0 || !isa<AddOp, SubOp, MulOp, DivOp, PowOp>(op))
    return std::nullopt;
  auto a = polynomialOf(op->getOperand(0), x, depth - 1);
  auto b = polynomialOf(op->getOperand(1), x, depth - 1);
  if (!a || !b)
    return std::nullopt;
  bool bIsNumber = (*b)[1] == 0 && (*b)[2] == 0 && (*b)[3] == 0;
  if (isa<AddOp, SubOp>(op)) {
    double sign = isa<AddOp>(op) ? 1 : -1;
    for (unsigned i = 0; i < 4; ++i)
      (*a)[i] += sign * (*b)[i];
    return a;
  }
  if (isa<MulOp>(op))
    return multiply(*a, *b);
  if (!bIsNumber)
    return std::nullopt;
  if (isa<DivOp>(op)) {
    for (double &c : *a)
      c /= (*b)[0];
    return a;
  }
  std::optional<Polynomial> power = Polynomial{1, 0, 0, 0};
  if ((*b)[0] != 1 && (*b)[0] != 2 && (*b)[0] != 3)
    return std::nullopt;
  for (int i = 0; power && i < (*b)[0]; ++i)
    power = multiply(*power, *a);
  return power;
}

SmallVector<Value> raise::ancestors(Value v, unsigned depth) {
  SmallVector<Value> found = {skip(v)};
  for (size_t level = 0, begin = 0; level < depth; ++level) {
    size_t end = found.size();
    for (size_t i = begin; i < end; ++i)
      if (Operation *op = found[i].getDefiningOp())
        for (Value operand : op->getOperands())
          if (Value before = skip(operand); !splatOf(before) && !llvm::is_contained(found, before))
            found.push_back(before);
    begin = end;
  }
  return found;
}

std::optional<int64_t> raise::trailingMeanAxis(Operation *op) {
  auto mean = dyn_cast_or_null<ReduceMeanOp>(op);
  if (!mean || !mean.getKeepdims() || mean.getAxes().empty())
    return std::nullopt;
  int64_t rank = rankOf(mean.getX()), first = rank - mean.getAxes().size();
  for (int64_t axis : mean.getAxes())
    if (axis < first)
      return std::nullopt;
  return first;
}

bool raise::isRowParameter(Value v, Value x, int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  if (!type || type.getElementType() != elementOf(x) || type.getRank() > rankOf(x) || type.getRank() == 0)
    return false;
  int64_t skipped = rankOf(x) - type.getRank();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim);
    bool leading = dim + skipped < axis;
    if (leading ? size != 1 : size != shapeOf(x)[dim + skipped])
      return false;
  }
  return type.getRank() >= rankOf(x) - axis;
}

Value raise::dropLeadingOnes(OpBuilder &builder, Location loc, Value v, int64_t rank) {
  ArrayRef<int64_t> shape = shapeOf(v).take_back(rank);
  return shapeOf(v) == shape ? v : Value(ReshapeOp::create(builder, loc, v, shape));
}

std::optional<raise::MatchedPart> raise::partOf(Value v) {
  v = skip(v);
  if (auto slice = v.getDefiningOp<SliceOp>()) {
    MatchedPart part;
    part.source = skip(slice.getData());
    int cut = 0;
    for (int64_t dim = 0; dim < rankOf(v); ++dim) {
      int64_t step = slice.getSteps()[dim], size = shapeOf(v)[dim];
      if (size == shapeOf(part.source)[dim] && step == 1)
        continue;
      ++cut;
      part.axis = dim;
      part.start = slice.getStarts()[dim];
      part.size = size;
      part.step = step;
    }
    return cut == 1 ? std::optional(part) : std::nullopt;
  }
  if (auto split = v.getDefiningOp<SplitOp>()) {
    MatchedPart part;
    part.source = skip(split.getInput());
    part.axis = split.getAxis();
    unsigned number = cast<OpResult>(v).getResultNumber();
    for (unsigned i = 0; i < number; ++i)
      part.start += split.getSplit()[i];
    part.size = split.getSplit()[number];
    return part;
  }
  return std::nullopt;
}

void raise::eraseDead(func::FuncOp function) {
  if (function.isExternal())
    return;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}
