#include "passes/Adapters/AdapterSites.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"

using namespace mlir;

namespace kedge::adapters {
namespace {

bool swapsTwo(onnx::TransposeOp transpose) {
  ArrayRef<int64_t> perm = transpose.getPerm();
  return perm == ArrayRef<int64_t>{1, 0} || perm == ArrayRef<int64_t>{0, 2, 1};
}

/// `flipped`: `value` is the weight's transpose.
void collect(Value value, bool flipped, AdaptedWeight &weight) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    unsigned operand = use.getOperandNumber();
    if (auto transpose = dyn_cast<onnx::TransposeOp>(op); transpose && swapsTwo(transpose))
      collect(transpose.getResult(), !flipped, weight);
    else if (auto product = dyn_cast<onnx::MatMulOp>(op);
             product && operand == 1 && rankOf(product.getA()) >= 2)
      weight.sites.push_back({op, product.getTransB() != flipped});
    else if (auto gemm = dyn_cast<onnx::GemmOp>(op); gemm && operand == 1)
      weight.sites.push_back({op, gemm.getTransB() != flipped});
    else if (auto grouped = dyn_cast<train::GroupedMatmulOp>(op); grouped && operand == 2)
      weight.sites.push_back({op, grouped.getTransB() != flipped});
    else if (isa<onnx::ConvOp>(op) && operand == 1 && !flipped)
      weight.sites.push_back({op, true});
    else
      weight.other = op;
  }
}

template <typename Op> Op onlyReader(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

/// Whether matrices that lie one under the other are told apart.
bool areExperts(onnx::ReshapeOp reshape) {
  const ArrayRef<int64_t> shape = shapeOf(reshape.getResult()), before = shapeOf(reshape->getOperand(0));
  return shape.size() == 3 && before.size() == 2 && shape[2] == before[1];
}

/// The values of codes that the model's file has; the argument itself else.
Value valuesOf(BlockArgument argument) {
  for (OpOperand &use : argument.getUses())
    if (isa<train::DequantizeBlocksOp, train::DequantizeOp>(use.getOwner()) && use.getOperandNumber() == 0) {
      Value values = use.getOwner()->getResult(0);
      if (auto rounded = onlyReader<onnx::CastOp>(values))
        values = rounded.getResult();
      auto experts = onlyReader<onnx::ReshapeOp>(values);
      return experts && areExperts(experts) ? experts.getResult() : values;
    }
  return argument;
}

} // namespace

StringRef AdaptedWeight::name() { return state.getOnnxName().value_or(state.getSymName()); }

std::string AdaptedWeight::weightName() {
  const auto encoding = tune::encodingOf(state);
  if (!encoding || !encoding.isInFile())
    return name().str();
  return cast<RankedTensorType>(value.getType()).getRank() == 3 ? path() : path() + ".weight";
}

std::string AdaptedWeight::path() { return modulePath(name()); }

std::string modulePath(StringRef name) {
  for (StringRef bits : {"_Q2", "_Q4", "_Q8", "_Bnb4"}) // of onnxruntime's quantisers
    name.consume_back(bits);
  name.consume_back("_DQ");
  name.consume_back(".qweight"); // of onnxruntime-genai
  name.consume_back(".weight");
  return name.str();
}

bool AdaptedWeight::isBias() { return name().ends_with(".bias") || name().ends_with("_bias"); }

bool AdaptedWeight::isConvolution() const { return isa<onnx::ConvOp>(sites.front().op); }

int64_t AdaptedWeight::experts() const {
  return isa<train::GroupedMatmulOp>(sites.front().op) ? shapeOf(value)[0] : 1;
}

SmallVector<int64_t> AdaptedWeight::shape() const {
  SmallVector<int64_t> shape(shapeOf(value));
  if (isa<train::GroupedMatmulOp>(sites.front().op))
    shape.erase(shape.begin());
  if (!sites.front().outFirst)
    std::swap(shape[0], shape[1]);
  return shape;
}

SmallVector<AdaptedWeight> weightsOf(func::FuncOp model) {
  SmallVector<AdaptedWeight> weights;
  for (BlockArgument argument : model.getArguments()) {
    FlatSymbolRefAttr symbol = train::stateOfArgument(model, argument.getArgNumber());
    auto state =
        symbol ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(model, symbol) : train::StateOp();
    if (!state || (state.getRole() != train::Role::Frozen && state.getRole() != train::Role::Parameter))
      continue;
    const auto encoding = tune::encodingOf(state);
    if (encoding && encoding.getPart() != tune::Part::Codes)
      continue;
    AdaptedWeight weight{state, encoding && encoding.isInFile() ? valuesOf(argument) : Value(argument), {}};
    collect(weight.value, /*flipped=*/false, weight);
    weights.push_back(std::move(weight));
  }
  return weights;
}

} // namespace kedge::adapters
