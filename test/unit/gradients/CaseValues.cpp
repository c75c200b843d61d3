#include "test/unit/gradients/CaseValues.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;

namespace kedge::test {

interpret::HostTensor makeTensor(RankedTensorType type, const std::vector<double> &values) {
  interpret::HostTensor tensor{type, {}};
  auto append = [&](auto number) {
    auto *bytes = reinterpret_cast<const char *>(&number);
    tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof(number));
  };
  Type element = type.getElementType();
  for (double value : values)
    if (element.isF64())
      append(value);
    else if (element.isF32())
      append(static_cast<float>(value));
    else if (element.isInteger(1))
      append(static_cast<char>(value != 0));
    else if (element.isInteger(32))
      append(static_cast<int32_t>(value));
    else
      append(static_cast<int64_t>(value));
  return tensor;
}

std::vector<double> drawArgument(func::FuncOp function, BlockArgument argument, std::mt19937 &random) {
  unsigned index = argument.getArgNumber();
  auto number = [](Attribute attribute) { return cast<FloatAttr>(attribute).getValueAsDouble(); };
  double low = -1, high = 1;
  if (auto range = function.getArgAttrOfType<ArrayAttr>(index, "check.range")) {
    low = number(range[0]);
    high = number(range[1]);
  }
  int64_t below = 2;
  if (auto limit = function.getArgAttrOfType<IntegerAttr>(index, "check.below"))
    below = limit.getInt();
  std::vector<double> result(elementCount(shapeOf(argument)));
  for (double &value : result)
    value = isa<FloatType>(elementOf(argument))
                ? std::uniform_real_distribution<double>(low, high)(random)
                : std::uniform_int_distribution<int64_t>(0, below - 1)(random);
  return result;
}

std::vector<double> drawWeights(Value result, std::mt19937 &random) {
  std::vector<double> weights(elementCount(shapeOf(result)));
  for (double &weight : weights)
    weight = std::uniform_real_distribution<double>(-1, 1)(random);
  return weights;
}

} // namespace kedge::test
