// Gradients of elementwise ops, reductions and softmax, each one kernel and rounded once; dropout.
#ifndef KEDGE_TRAIN_ELEMENTWISE_OPS
#define KEDGE_TRAIN_ELEMENTWISE_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_PointwiseGradOp : Train_Op<"pointwise_grad", [Pointwise]> {
  let summary = "Gradient of an elementwise function";
  let description = [{
    The first input is the gradient of the function's result, the others are what `function` needs: the
    forward operands or the result. `parameters` are attributes of the forward op. The result has the broadcast shape
    and the first input's element type. Conventions at kinks are PyTorch's.
  }];
  let arguments = (ins Variadic<ONNX_Tensor>:$inputs, Word<Train_PointwiseFunction>:$function, OptionalAttr<DictionaryAttr>:$parameters);
  let results = (outs ONNX_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::kedge::train::PointwiseFunction":$function,
                                 CArg<"::mlir::DictionaryAttr", "{}">:$parameters), [{
    build($_builder, $_state, inputs, $_builder.getStringAttr(stringifyEnum(function)), parameters);
  }]>];
  let hasVerifier = 1;
}

def Train_ReduceGradOp : Train_Op<"reduce_grad", [Clusterable]> {
  let summary = "Gradient of a reduction";
  let description = [{
    Spreads `grad`, which lacks the dims `axes` (or has them with size 1: `keepdims`), over `shape`.
    `saved` is what `function` needs: nothing, the forward operand, or operand and result.
  }];
  let arguments = (ins ONNX_Tensor:$grad, Variadic<ONNX_Tensor>:$saved, Word<Train_ReduceFunction>:$function,
    DenseI64ArrayAttr:$shape, DenseI64ArrayAttr:$axes, DefaultValuedAttr<BoolAttr, "false">:$keepdims);
  let results = (outs ONNX_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$grad, "::mlir::ValueRange":$saved, "::kedge::train::ReduceFunction":$function,
      "::llvm::ArrayRef<int64_t>":$shape, "::llvm::ArrayRef<int64_t>":$axes, "bool":$keepdims), [{
    build($_builder, $_state, grad, saved, $_builder.getStringAttr(stringifyEnum(function)), $_builder.getDenseI64ArrayAttr(shape),
          $_builder.getDenseI64ArrayAttr(axes), $_builder.getBoolAttr(keepdims));
  }]>];
  let hasVerifier = 1;
}

class Train_SoftmaxGrad<string mnemonic, string text> : Train_Op<mnemonic, [Clusterable]> {
  let summary = text;
  let description = [{ `grad` is the gradient of the forward result `y`. }];
  let arguments = (ins ONNX_Tensor:$grad, ONNX_Tensor:$y, I64Attr:$axis);
  let results = (outs ONNX_Tensor:$result);
}
def Train_SoftmaxGradOp : Train_SoftmaxGrad<"softmax_grad", "y (grad - sum of grad y along the axis)">;
def Train_LogSoftmaxGradOp : Train_SoftmaxGrad<"log_softmax_grad", "grad - exp(y) times the sum of grad along the axis">;

/// Dropout's random numbers are keyed by (seed, op_id) and counted by (step, row, element). Rows run along
/// `batch_axis`: index i there is row row_base + i / row_size (row_size > 1 where batch and further dims are
/// folded into one). Without a batch axis (-1) all elements are of row `row_base`. Elements count, row-major,
/// within a row.
class Train_DropoutBase<string mnemonic, list<Trait> traits> : Train_Op<mnemonic, !listconcat([Clusterable], traits)> {
  dag operandArguments = (ins ONNX_Tensor:$x, Train_Counter:$seed, Train_Counter:$step, Train_Counter:$row_base,
    F32Attr:$ratio, I64Attr:$op_id, DefaultValuedAttr<I64Attr, "0">:$batch_axis,
    DefaultValuedAttr<I64Attr, "1">:$row_size);
}
def Train_DropoutOp : Train_DropoutBase<"dropout", [DifferentiableOperands]> {
  let summary = "Zeroes elements with probability `ratio` and scales the others by 1 / (1 - ratio)";
  let description = [{ `mask` (if `with_mask`) is true where an element was kept. }];
  let arguments = !con(operandArguments, (ins DefaultValuedAttr<BoolAttr, "false">:$with_mask));
  let results = (outs ONNX_Tensor:$result, Optional<ONNX_Tensor>:$mask);
  let hasVerifier = 1;
}
def Train_DropoutGradOp : Train_DropoutBase<"dropout_grad", []> {
  let summary = "Gradient of train.dropout: x is the result's gradient; the mask is drawn again, not stored";
  let arguments = operandArguments;
  let results = (outs ONNX_Tensor:$result);
}

def Train_RandomOp : Train_Op<"random", [Clusterable]> {
  let summary = "Random numbers: uniform in [a, a + b), or normal with mean a and standard deviation b";
  let description = [{
    Random numbers are keyed and counted as those of train.dropout; an element of a normal distribution takes two. The
    result has the shape `shape` and the element type `dtype`.
  }];
  let arguments = (ins Train_Counter:$seed, Train_Counter:$step, Train_Counter:$row_base, Word<Train_RandomKind>:$distribution,
    F64Attr:$a, F64Attr:$b, DenseI64ArrayAttr:$shape, TypeAttr:$dtype, I64Attr:$op_id,
    DefaultValuedAttr<I64Attr, "0">:$batch_axis, DefaultValuedAttr<I64Attr, "1">:$row_size);
  let results = (outs ONNX_Tensor:$result);
  let hasVerifier = 1;
}

def Train_ByModeOp : Train_Op<"by_mode"> {
  let summary = "`training` while a step runs, `evaluation` in evaluation and prediction";
  let description = [{
    For random numbers that are switched off with training: what a step computes by them, and what stands for it elsewhere.
    kedge-split-functions takes one of the two for each function.
  }];
  let arguments = (ins ONNX_Tensor:$training, ONNX_Tensor:$evaluation);
  let results = (outs ONNX_Tensor:$result);
}

def Train_StraightThroughOp : Train_Op<"straight_through", [Decomposable, DifferentiableOperands]> {
  let summary = "The value, with the gradient of `along`";
  let description = [{
    For step functions such as roundings, whose own gradient is zero: the result is `value`, the gradient goes to `along`.
  }];
  let arguments = (ins ONNX_Tensor:$value, ONNX_Tensor:$along);
  let results = (outs ONNX_Tensor:$result);
}
#endif
