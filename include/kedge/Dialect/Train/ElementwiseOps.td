// Gradients of elementwise ops, reductions and softmax, each one kernel and rounded once; dropout.
#ifndef KEDGE_TRAIN_ELEMENTWISE_OPS
#define KEDGE_TRAIN_ELEMENTWISE_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_PointwiseGradOp : Train_Op<"PointwiseGrad", [Pointwise]> {
  let summary = "Gradient of an elementwise function";
  let description = [{
    The first input is the gradient of the function's result, the others are what `function` needs: the
    forward operands or the result. `parameters` are attributes of the forward op. The result has the broadcast shape
    and the first input's element type. Conventions at kinks are PyTorch's.
  }];
  let arguments = (ins Variadic<ONNX_Tensor>:$inputs, StrAttr:$function, OptionalAttr<DictionaryAttr>:$parameters);
  let results = (outs ONNX_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::llvm::StringRef":$function,
                                 CArg<"::mlir::DictionaryAttr", "{}">:$parameters), [{
    build($_builder, $_state, inputs, $_builder.getStringAttr(function), parameters);
  }]>];
  let hasVerifier = 1;
}

def Train_ReduceGradOp : Train_Op<"ReduceGrad", [Clusterable]> {
  let summary = "Gradient of a reduction";
  let description = [{
    Spreads `grad`, which lacks the dims `axes` (or has them with size 1: `keepdims`), over `shape`.
    `saved` is what `function` needs: nothing, the forward operand, or operand and result.
  }];
  let arguments = (ins ONNX_Tensor:$grad, Variadic<ONNX_Tensor>:$saved, StrAttr:$function,
    DenseI64ArrayAttr:$shape, DenseI64ArrayAttr:$axes, DefaultValuedAttr<BoolAttr, "false">:$keepdims);
  let results = (outs ONNX_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$grad, "::mlir::ValueRange":$saved, "::llvm::StringRef":$function,
      "::llvm::ArrayRef<int64_t>":$shape, "::llvm::ArrayRef<int64_t>":$axes, "bool":$keepdims), [{
    build($_builder, $_state, grad, saved, $_builder.getStringAttr(function), $_builder.getDenseI64ArrayAttr(shape),
          $_builder.getDenseI64ArrayAttr(axes), $_builder.getBoolAttr(keepdims));
  }]>];
  let hasVerifier = 1;
}
#endif
