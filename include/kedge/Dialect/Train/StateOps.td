// The symbols that hold what a training run keeps from step to step.
#ifndef KEDGE_TRAIN_STATE_OPS
#define KEDGE_TRAIN_STATE_OPS
include "mlir/IR/SymbolInterfaces.td"
include "kedge/Dialect/ONNX/OnnxBase.td"
include "kedge/Dialect/Train/TrainAttrs.td"
include "kedge/Dialect/Dist/DistAttrs.td"

def Train_StateOp : Op<Train_Dialect, "state", [Symbol]> {
  let summary = "A tensor that outlives the step";
  let description = [{
    `init` is a #train.weight (a range of the model file), a dense constant, a float (fill) or a unit
    (zeros). `onnx_name` is the initializer's name in the exported file, `of` the parameter that a moment or
    accumulator belongs to. `decay` and `lr_scale` are the parameter's optimizer settings. With a
    `sharding` the state is the rank's own part of a tensor: `type` is that of the part, `init` and `onnx_name` are of the
    whole.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Train_RoleAttr:$role, TypeAttrOf<ONNX_Tensor>:$type,
    OptionalAttr<AnyAttr>:$init, OptionalAttr<StrAttr>:$onnx_name, OptionalAttr<FlatSymbolRefAttr>:$of,
    DefaultValuedAttr<BoolAttr, "true">:$decay,
    DefaultValuedAttr<F64Attr, "1.0">:$lr_scale, OptionalAttr<Dist_ShardingAttr>:$sharding);
  let extraClassDeclaration = [{
    /// The type of the whole tensor, and that of the rank's box of it before it is cut into flat parts.
    ::mlir::RankedTensorType wholeType();
    ::mlir::RankedTensorType boxType();
  }];
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$name, "RoleAttr":$role, "::mlir::TypeAttr":$type,
      "::mlir::Attribute":$init, "::mlir::StringAttr":$onnxName, "::mlir::FlatSymbolRefAttr":$of, "::mlir::BoolAttr":$decay,
      "::mlir::FloatAttr":$lrScale), [{
    build($_builder, $_state, name, role, type, init, onnxName, of, decay, lrScale, ::kedge::dist::ShardingAttr());
  }]>];
  let hasVerifier = 1;
  let assemblyFormat = "$role $sym_name $type (`from` $init^)? attr-dict";
}

def Train_FinalGradientOp : Op<Train_Dialect, "final_gradient", []> {
  let summary = "Marks a parameter's complete gradient, before clipping and the update use it";
  let description = [{ Runs nothing: `--dump-gradients`, `--inject-gradient` and reports look here. }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, ONNX_Tensor:$gradient);
  let assemblyFormat = "$parameter $gradient attr-dict `:` type($gradient)";
}
#endif
