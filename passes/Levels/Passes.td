// What belongs to no phase: the borders between levels, and what any of them may run.
#ifndef KEDGE_LEVELS_PASSES
#define KEDGE_LEVELS_PASSES
include "mlir/Pass/PassBase.td"

def MergeEqual : Pass<"kedge-merge-equal", "mlir::func::FuncOp"> {
  let summary = "Common subexpressions, wherever in the model they are";
  let description = [{
    MLIR's elimination of common subexpressions takes attributes for part of what an op computes; `kedge.place` is none.
    Of equal ops the first stays, with its place. Levels 1 and 2 only: behind rematerialization equal launches are meant.
    Statistic: ops merged.

    Example:
    ```mlir
    func.func @model(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %a = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
      %b = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.1", "b">} : (tensor<4xf32>) -> tensor<4xf32>
      return %a, %b : tensor<4xf32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    #forward_h_0 = #kedge.place<forward "h.0", "a">
    ...
    func.func @model(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = onnx.Tanh %x {kedge.place = #forward_h_0} : (tensor<4xf32>) -> tensor<4xf32>
    return %a, %a : tensor<4xf32>, tensor<4xf32>
    ```
  }];
}
#endif
