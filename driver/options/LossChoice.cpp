#include "driver/options/LossChoice.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "lib/Support/Error.h"

using namespace mlir;

namespace kedge::driver {
namespace {

struct Output {
  std::string name;
  RankedTensorType type;
  Value value;

  std::string describe() const {
    std::string dims;
    for (int64_t dim : type.getShape())
      dims += (dims.empty() ? "" : "x") + std::to_string(dim);
    return fmt::format("'{}' [{}]", name, dims);
  }
};

std::vector<Output> floatOutputs(func::FuncOp model) {
  std::vector<Output> outputs;
  Operation *terminator = model.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    if (auto binding = train::bindingOfResult(model, index, train::BindingKind::Output))
      if (auto type = dyn_cast<RankedTensorType>(value.getType());
          type && isa<FloatType>(type.getElementType()))
        outputs.push_back({binding.getName().str(), type, value});
  return outputs;
}

RankedTensorType labelsOf(func::FuncOp model, const std::string &name) {
  for (unsigned i = 0; i < model.getNumArguments(); ++i)
    if (auto binding = train::bindingOfArgument(model, i, train::BindingKind::Input);
        binding && binding.getName() == name)
      return cast<RankedTensorType>(model.getArgument(i).getType());
  return {};
}

[[noreturn]] void refuse(const std::string &why) {
  fail("no --loss was given, and cross-entropy does not fit: {}", why);
}

void checkScalars(const std::vector<Output> &outputs) {
  for (const Output &output : outputs)
    if (output.type.getRank() < 2 && output.type.getNumElements() == 1)
      fail("no --loss was given: the output {} is one number; take it as the loss by --loss-output {}, or "
           "name a loss by --loss",
           output.describe(), output.name);
}

/// Probabilities are none of the numbers that cross-entropy makes probabilities of.
void checkNotNormalised(const Output &output) {
  Operation *producer = output.value.getDefiningOp();
  if (!producer)
    return;
  StringRef op = producer->getName().stripDialect();
  if (op == "Sigmoid" || op == "Softmax")
    refuse(fmt::format("the output {} comes from a {}, which the loss applies itself; export the value "
                       "before it as an output and "
                       "name it by --logits, or name a loss by --loss",
                       output.describe(), op.str()));
}

} // namespace

std::string whyCrossEntropyFits(func::FuncOp model, const ModelOptions &options) {
  std::vector<Output> outputs = floatOutputs(model);
  if (options.logits.empty())
    checkScalars(outputs);
  else
    std::erase_if(outputs, [&](const Output &output) { return output.name != options.logits; });
  if (outputs.size() != 1)
    return ""; // kedge-add-loss says what there is to choose from
  const Output &logits = outputs.front();
  const int64_t rank = logits.type.getRank();
  int64_t axis = options.classAxis != -100 ? options.classAxis : rank <= 3 ? rank - 1 : 1;
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return "";
  const char *others = "give --loss mse for numbers, or --loss bce-with-logits for yes and no";
  if (rank < 2)
    refuse(fmt::format("the output {} has no axis of classes in addition to its rows; {}", logits.describe(),
                       others));
  const int64_t classes = logits.type.getDimSize(axis);
  if (classes == 1)
    refuse(fmt::format("the output {} has one class along axis {}; {}", logits.describe(), axis, others));
  RankedTensorType labels = labelsOf(model, options.labels);
  if (labels && !isa<IntegerType>(labels.getElementType()))
    refuse(fmt::format("the input '{}' holds float labels; {}", options.labels, others));
  checkNotNormalised(logits);
  return fmt::format("no --loss was given: cross-entropy over the {} classes of {} along axis {}, {} '{}'",
                     classes, logits.describe(), axis,
                     labels ? "with the integer labels" : "the integer labels are a new input",
                     options.labels);
}

} // namespace kedge::driver
