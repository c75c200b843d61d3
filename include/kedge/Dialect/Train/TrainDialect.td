#ifndef KEDGE_TRAIN_DIALECT
#define KEDGE_TRAIN_DIALECT
include "mlir/IR/OpBase.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::kedge::train";
  let summary = "State, losses, gradients and optimizers of a training step";
  let description = [{
    State is symbols: each parameter, buffer and moment is a `train.state`. What arguments and results of functions are
    outside them says their attribute `train.binding` (#train.binding): an argument `state @w` takes the state, a result
    `state @w` is its new value, like input/output aliasing in XLA. The dialect verifies that the symbol is a train.state
    of the value's type, and that no argument or state is bound twice.

    `train.kind` (#train.kind) of a function says what it does in a run: `model` before the functions of a run are made
    from it; `step`, or `micro` for each micro-batch and `update` behind the last; `eval` and `predict`, in evaluation
    mode; `init`. Each has its kind's name, since programs know functions by name.
  }];
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
