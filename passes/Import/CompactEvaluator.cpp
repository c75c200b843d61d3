#include "passes/Import/CompactEvaluator.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "passes/Import/ConstantStates.h"
#include "passes/Import/MatchUtils.h"
#include <cstring>

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
/// Below this many elements a value is evaluated as it stands.
constexpr int64_t smallSize = 1 << 16;

/// Whether the op commutes with repeating its operands.
bool isElementwise(Operation *op) {
  return isa<AndOp, OrOp, XorOp, NotOp, EqualOp, LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp, WhereOp,
             AddOp, SubOp, MulOp, CastOp>(op);
}

/// Takes one slice along `dim` when all are equal.
void dropRepetition(interpret::HostTensor &tensor, unsigned dim) {
  SmallVector<int64_t> shape(tensor.type.getShape());
  int64_t count = shape[dim];
  if (count <= 1 || tensor.elements() == 0)
    return;
  size_t total = tensor.bytes.size(), outer = 1;
  for (unsigned d = 0; d < dim; ++d)
    outer *= shape[d];
  size_t slice = total / outer / count;
  const char *bytes = tensor.bytes.data();
  for (size_t o = 0; o < outer; ++o)
    for (int64_t i = 1; i < count; ++i)
      if (std::memcmp(bytes + o * count * slice, bytes + (o * count + i) * slice, slice) != 0)
        return;
  std::vector<char> once;
  for (size_t o = 0; o < outer; ++o)
    once.insert(once.end(), bytes + o * count * slice, bytes + (o * count + 1) * slice);
  shape[dim] = 1;
  tensor = {RankedTensorType::get(shape, tensor.type.getElementType()), std::move(once)};
}
} // namespace

const interpret::HostTensor *raise::CompactEvaluator::evaluate(Value value) {
  value = skip(value);
  if (auto found = known.find(value); found != known.end())
    return found->second.get();
  std::optional<interpret::HostTensor> tensor = compute(value);
  if (tensor)
    for (unsigned dim = 0; dim < tensor->type.getRank(); ++dim)
      dropRepetition(*tensor, dim);
  auto &entry = known[value];
  entry = tensor ? std::make_unique<interpret::HostTensor>(std::move(*tensor)) : nullptr;
  return entry.get();
}

std::optional<interpret::HostTensor> raise::CompactEvaluator::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto expand = dyn_cast_or_null<ExpandOp>(op)) {
    const interpret::HostTensor *input = evaluate(expand.getInput());
    return input ? std::optional(*input) : std::nullopt;
  }
  if (op && isElementwise(op) && elementCount(shapeOf(value)) > smallSize)
    return computeElementwise(op);
  bindConstantStates(value, whole);
  const interpret::HostTensor *tensor = whole.evaluate(value);
  return tensor ? std::optional(*tensor) : std::nullopt;
}

/// The op again, over operands without repetition.
std::optional<interpret::HostTensor> raise::CompactEvaluator::computeElementwise(Operation *op) {
  SmallVector<const interpret::HostTensor *> operands;
  Block scratch;
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    operands.push_back(evaluate(operand));
    if (!operands.back())
      return std::nullopt;
    mapping.map(operand, scratch.addArgument(operands.back()->type, op->getLoc()));
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  Operation *small = builder.clone(*op, mapping);
  SmallVector<Type> types;
  auto inferred = cast<InferTypeOpInterface>(small);
  if (failed(inferred.inferReturnTypes(op->getContext(), op->getLoc(), small->getOperands(),
                                       small->getDiscardableAttrDictionary(), small->getPropertiesStorage(),
                                       {}, types)))
    return std::nullopt;
  small->getResult(0).setType(types[0]);
  std::vector<interpret::HostTensor> results;
  if (!interpret::interpret(small, operands, results))
    return std::nullopt;
  return std::move(results[0]);
}
