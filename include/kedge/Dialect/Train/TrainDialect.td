#ifndef KEDGE_TRAIN_DIALECT
#define KEDGE_TRAIN_DIALECT
include "mlir/IR/OpBase.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::kedge::train";
  let summary = "State, losses, gradients and optimizers of a training step";
  let description = [{
    States are symbols: each parameter, buffer and moment is a `train.state`. The attribute `train.binding`
    (#train.binding) of a function's argument or result says what it is bound to outside the function: an argument bound to
    `state @w` is the state's value, a result bound to it is the new value, like input/output aliasing in XLA. The dialect verifies that the symbol is a train.state
    of the value's type, and that no argument or state is bound twice.

    `train.kind` (#train.kind) of a function says what it does in a run: `model` before the functions of a run are made
    from it; `step`, or `micro` for each micro-batch and `update` after the last; `eval` and `predict`, in evaluation
    mode; `init`. A function's name is that of its kind, since programs look functions up by name.

    Passes leave notes for later ones. On the module: `train.bounds` (numbers that an input's indices stay below, by name),
    `train.modules` (how often each module of the model is called) and `train.updates` (the states that a step has to
    update). On functions: `train.nominal_items` (items of a step that the loss divides by), `train.loss_gradient` (the
    gradient of the loss, where differentiation starts), `train.training_info` (the step is the file's own). On an op that
    chunks of logits share, `train.chunk` is the number of the chunk.
  }];
  let discardableAttrs = (ins "::mlir::DictionaryAttr":$bounds, "::mlir::DictionaryAttr":$modules,
    "::mlir::ArrayAttr":$updates, "::mlir::FloatAttr":$nominal_items, "::mlir::FloatAttr":$loss_gradient,
    "::mlir::UnitAttr":$training_info, "::mlir::IntegerAttr":$chunk);
  let extraClassDeclaration = [{
    void registerLossOps();
    void registerOptimizerOps();
    void registerGradientOps();
    void registerElementwiseOps();
    void registerMovementGradientOps();
    void registerOnnxOptimizerOps();
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}
#endif
