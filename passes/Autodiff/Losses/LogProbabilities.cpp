#include "passes/Autodiff/Losses/LogProbabilities.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "passes/Autodiff/FunctionEditing.h"

namespace kedge::autodiff {
using namespace mlir;

Value LogProbabilities::means(Formula &f, Value ofTokens) const {
  return f.div(f.sum(ofTokens, {1}), f.maximum(counts(f), 1));
}

static Value lossesOf(Formula &f, const LossInputs &inputs, Value logits) {
  return f.toF32(f.crossEntropy(logits, inputs.labels, 2, inputs.ignoreIndex));
}

static Value referenceLogs(Formula &f, const LossInputs &inputs, Value mask) {
  return f.held(f.mul(f.neg(lossesOf(f, inputs, inputs.reference)), mask));
}

static void addOutput(const LossInputs &inputs, StringRef name, Value value) {
  if (!findResult(inputs.function, train::BindingKind::Output, name))
    addResult(inputs.function, value, train::BindingKind::Output, name);
}

FailureOr<LogProbabilities> logProbabilities(Formula &f, const LossInputs &inputs) {
  Value output = inputs.output();
  if (rankOf(output) != 3 || inputs.classAxis != 2)
    return inputs.refuse() << "the output is " << output.getType() << " with classes along axis "
                           << inputs.classAxis << ", expected [rows, tokens, vocabulary]";
  Value given = inputs.input(abi::kLossMask, shapeOf(inputs.labels), f.b.getF32Type());
  if (!given)
    return failure();
  LogProbabilities own;
  own.known = f.toF32(f.negate(f.equal(inputs.labels, inputs.ignoreIndex)));
  own.mask = f.mul(given, own.known);
  own.losses = lossesOf(f, inputs, output);
  own.tokens = f.mul(f.neg(own.losses), own.mask);
  addOutput(inputs, abi::kRowLogs, own.sums(f));
  addOutput(inputs, abi::kTokenLogs, own.tokens);
  return own;
}

FailureOr<Value> referenceTokens(Formula &f, const LossInputs &inputs, const LogProbabilities &own) {
  if (inputs.reference)
    return referenceLogs(f, inputs, own.mask);
  Value given = inputs.input(kReferenceLogs, shapeOf(own.tokens), f.b.getF32Type());
  if (!given)
    return failure();
  return f.mul(given, own.mask);
}

FailureOr<Value> referenceSums(Formula &f, const LossInputs &inputs, const LogProbabilities &own) {
  if (inputs.reference)
    return f.sum(referenceLogs(f, inputs, own.mask), {1});
  Value given = inputs.input(kReferenceLogs, {shapeOf(own.tokens)[0]}, f.b.getF32Type());
  if (!given)
    return failure();
  return given;
}

} // namespace kedge::autodiff
