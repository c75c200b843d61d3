#ifndef KEDGE_ONNX_DIALECT
#define KEDGE_ONNX_DIALECT
include "mlir/IR/OpBase.td"

def ONNX_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::kedge::onnx";
  let summary = "ONNX operators in one canonical form";
  let description = [{
    One op per ONNX operator, in its newest form: axes, shapes, splits, pads and scales are attributes,
    result types follow from operands and attributes, shapes are static. Locations are the exporter's
    module paths.
  }];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerMathOps();
    void registerLogicOps();
    void registerActivationOps();
    void registerReductionOps();
    void registerMovementOps();
    void registerNeuralNetworkOps();
    void registerCompositeOps();
  }];
}
#endif
