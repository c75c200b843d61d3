// Level 1: which values are 16-bit, and the casts between them and the others.
#ifndef KEDGE_PRECISION_PASSES
#define KEDGE_PRECISION_PASSES
include "mlir/Pass/PassBase.td"

def AssignPrecision : Pass<"kedge-assign-precision", "mlir::func::FuncOp"> {
  let summary = "Decide for every op of @model whether it computes on 16-bit values or on f32";
  let description = [{
    Writes `train.precision = bf16`, `f16` or `f32` on each op that f32 values touch, and on the arguments that become
    16-bit; nothing else changes. Policy `master`: what depends on a parameter or a float input is 16-bit, except a
    loss, what follows from one, and ops whose results are all scalars. Policy `autocast`: PyTorch's lists
    (PrecisionOpInterface). `file` overrides either, the last line that fits an op wins:

    ```
    # low | fp32 | follow | widest, then op:NAME (an ONNX operator) or node:REGEX (searched in the op's place in the model)
    fp32 op:Softmax
    low  node:h\.0\.mlp
    ```

    A scalar (rank 0) decides nothing and is never rounded. f64 and 16-bit values of the model stay as they are.
    Statistics: ops in 16 bits, ops in f32.

    Example:
    ```
    kedge-opt model.mlir --kedge-assign-precision="type=bf16 policy=autocast"
    ```
  }];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or fp16">,
    Option<"policy", "policy", "std::string", "\"master\"", "master or autocast">,
    Option<"file", "file", "std::string", "\"\"", "lines that override the policy by op or node">
  ];
}

def InsertCasts : Pass<"kedge-insert-casts", "mlir::ModuleOp"> {
  let summary = "Carry out kedge-assign-precision: casts, working copies of parameters, and @restore that makes them";
  let description = [{
    An operand whose type differs from its op's precision is cast; a value is cast once to a type however often it is
    used, and never back to what it was made from. A parameter whose argument has a precision gets a second state
    `NAME.working` of that type, which @model reads in its place; @restore makes all working copies from their
    masters when a run starts. The model's outputs keep their types. Statistics: casts, working copies.

    Example:
    ```
    kedge-opt model.mlir --kedge-assign-precision --kedge-insert-casts
    ```
  }];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def ScaleLoss : Pass<"kedge-scale-loss", "mlir::ModuleOp"> {
  let summary = "Multiply the gradient that enters backward by a loss scale that is state";
  let description = [{
    Needs @step or @micro before kedge-differentiate. Adds the states `scaler.loss_scale`, `scaler.growth_counter`,
    `scaler.hysteresis` and `scaler.optimizer_steps`, and a train.scale_loss behind the loss; kedge-add-optimizer
    unscales, skips steps whose gradients are not finite, and updates the scale. Statistic: losses scaled.

    Example:
    ```
    kedge-opt train.mlir --kedge-scale-loss=init=65536 --kedge-differentiate --kedge-add-optimizer
    ```
  }];
  let options = [
    Option<"init", "init", "double", "65536.0", "scale of the first step">,
    Option<"hysteresis", "hysteresis", "int64_t", "1", "steps in a row that overflow before the scale shrinks">
  ];
  let dependentDialects = ["kedge::train::TrainDialect"];
}
#endif
