#ifndef KEDGE_TRAIN_DIALECT
#define KEDGE_TRAIN_DIALECT
include "mlir/IR/OpBase.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::kedge::train";
  let summary = "State, losses, gradients and optimizers of a training step";
  let description = [{
    State is symbols: each parameter, buffer and moment is a `train.state`. Functions take state as
    arguments with the attribute `train.state = @symbol` and return its new value as a result with the same
    attribute. Further argument attributes: `train.input = "name"` (data), `train.scalar = "lr"` (written
    by the host before the function runs). Further result attributes: `train.result = "loss_sum"` (read by
    the host), `train.output = "logits"`.
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
}
#endif
