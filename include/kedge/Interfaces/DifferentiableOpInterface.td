// The vector-Jacobian product of an op, in terms of other ops.
#ifndef KEDGE_DIFFERENTIABLE_OP_INTERFACE
#define KEDGE_DIFFERENTIABLE_OP_INTERFACE
include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    Reverse-mode gradient. `buildGradient` adds one value a differentiable operand to `operandGrads`
    (same type as the operand), from the gradients of the results. A null value means zero, in both lists;
    at least one result gradient is not null. Ops built here carry the forward op's location, and are
    pure: unused ones are erased afterwards.
  }];
  let methods = [
    InterfaceMethod<"Appends one gradient per operand, in order; null where there is none.",
      "::mlir::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGrads)>,
    StaticInterfaceMethod<[{Whether ONNX lets a gradient reach operand `index` (indices, ratios, shapes
      and running statistics: no). Asked on the op's name by lint, before any op exists.}],
      "bool", "isDifferentiableOperand", (ins "unsigned":$index), "", "return true;">
  ];
}
#endif
