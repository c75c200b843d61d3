// What the ONNX standard itself says of operators and gradients, whatever the compiler implements.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::lint {

/// Operands through which no gradient flows by definition: shapes, axes, indices, ratios, bounds, scales,
/// roi, running statistics, conditions, class labels.
bool carriesGradient(const model::Node &, size_t operand);

/// Operands whose values decide the shape of the result or which elements it takes: shapes, axes, bounds,
/// counts, scales.
bool decidesShape(const model::Node &, size_t operand);

/// Operators whose results are integers or booleans, or whose derivative is zero (Floor, Sign): gradients end
/// here without anything being missing.
bool endsGradient(const model::Node &);

/// "mean" and "variance" operands of normalizations with running statistics.
bool isRunningStatistic(const model::Node &, size_t operand);

/// Scale, bias or weight operand: never a mask, whatever its values.
bool isWeightOperand(const model::Node &, size_t operand);

/// "weight", "bias", "gamma" and the like, with or without a path: says the same of operands of Mul and Add.
bool isWeightName(const std::string &name);

/// What modules of PyTorch and transformers call tensors that are registered as buffers, and nothing else:
/// frozen statistics, a bias of logits that is never trained.
bool isBufferName(const std::string &name);

/// "onnx::Conv_" and a number: what PyTorch's older exporter calls a weight or bias of a convolution that it
/// computed.
bool isNumberedConv(std::string_view name);
/// A convolution whose weight and bias are such: a norm in evaluation mode was folded into it.
bool isFoldedNorm(const model::Node &);

/// Operators that draw random numbers: in training mode, or always.
bool isRandom(const model::Node &);

/// "model.h.0.ln_1.weight": a dotted or slashed path of a module; not "val_7", "onnx::Add_12",
/// "/Constant_output_0".
bool isModulePath(const std::string &name);

} // namespace kedge::lint
