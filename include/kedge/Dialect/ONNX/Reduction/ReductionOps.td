// Reductions, softmax, cumulative sums, argmax.
#ifndef KEDGE_ONNX_REDUCTION_OPS
#define KEDGE_ONNX_REDUCTION_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

/// Reduces the dims `axes` (import resolves negative axes, omitted axes and noop_with_empty_axes: no axis
/// means that nothing is reduced). With `keepdims` they stay with size 1. Sums accumulate 16-bit floats in f32.
class ONNX_Reduce<string mnemonic, list<Trait> traits = [Differentiable]>
    : ONNX_Op<mnemonic, !listconcat([Clusterable], traits)> {
  let arguments = (ins ONNX_Tensor:$x, DenseI64ArrayAttr:$axes, DefaultValuedAttr<BoolAttr, "false">:$keepdims);
  let results = (outs ONNX_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$axes, "bool":$keepdims), [{
    build($_builder, $_state, x, $_builder.getDenseI64ArrayAttr(axes), $_builder.getBoolAttr(keepdims));
  }]>];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::kedge::inferReduction(location, adaptor.getX(), adaptor.getAxes(), adaptor.getKeepdims(), types);
    }
    void $cppClass::describeCluster(::kedge::ClusterSpec &spec) {
      ::kedge::describeReduction(getOperation(), getAxes(), getKeepdims(), spec);
    }
  }];
}

def ONNX_ReduceSumOp : ONNX_Reduce<"ReduceSum", [Differentiable, FullPrecision]> { let summary = "Sum over axes"; }
def ONNX_ReduceMeanOp : ONNX_Reduce<"ReduceMean"> { let summary = "Mean over axes; of integers: truncated"; }
def ONNX_ReduceMaxOp : ONNX_Reduce<"ReduceMax"> {
  let summary = "Greatest over axes";
  let description = [{ NaN wins; equal elements share the gradient evenly, as PyTorch's amax. }];
}
def ONNX_ReduceMinOp : ONNX_Reduce<"ReduceMin"> {
  let summary = "Least over axes";
  let description = [{ As onnx.ReduceMax. }];
}
def ONNX_ReduceProdOp : ONNX_Reduce<"ReduceProd"> { let summary = "Product over axes"; }
def ONNX_ReduceL1Op : ONNX_Reduce<"ReduceL1"> { let summary = "Sum of magnitudes over axes"; }
def ONNX_ReduceL2Op : ONNX_Reduce<"ReduceL2", [Differentiable, FullPrecision]> {
  let summary = "Root of the sum of squares over axes";
  let description = [{ The gradient of a norm of zero is zero. }];
}
def ONNX_ReduceLogSumOp : ONNX_Reduce<"ReduceLogSum"> { let summary = "log of the sum over axes"; }
def ONNX_ReduceLogSumExpOp : ONNX_Reduce<"ReduceLogSumExp", [Differentiable, FullPrecision]> {
  let summary = "log of the sum of exp over axes, without overflow";
}
def ONNX_ReduceSumSquareOp : ONNX_Reduce<"ReduceSumSquare"> { let summary = "Sum of squares over axes"; }

/// Same shape; `axis` is not negative.
class ONNX_AlongAxis<string mnemonic, list<Trait> traits> : ONNX_Op<mnemonic, traits> {
  let arguments = (ins ONNX_Tensor:$x, I64Attr:$axis);
  let results = (outs ONNX_Tensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::kedge::inferAlongAxis(location, adaptor.getX(), adaptor.getAxis(), types);
    }
  }];
}
def ONNX_SoftmaxOp : ONNX_AlongAxis<"Softmax", [Clusterable, Differentiable, FullPrecision]> {
  let summary = "exp(x) over its sum along the axis";
}
def ONNX_LogSoftmaxOp : ONNX_AlongAxis<"LogSoftmax", [Clusterable, Differentiable, FullPrecision]> {
  let summary = "log of the softmax along the axis";
}
def ONNX_HardmaxOp : ONNX_AlongAxis<"Hardmax", []> { let summary = "1 at the first maximum along the axis, else 0"; }

def ONNX_CumSumOp : ONNX_AlongAxis<"CumSum", [Differentiable, FullPrecision]> {
  let summary = "Running sum along the axis";
  let description = [{ `exclusive` leaves the element itself out; `reverse` sums from the end. }];
  let arguments = (ins ONNX_Tensor:$x, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$exclusive,
    DefaultValuedAttr<BoolAttr, "false">:$reverse);
}

class ONNX_ArgExtremum<string mnemonic, string text> : ONNX_Op<mnemonic> {
  let summary = text;
  let description = [{ The first of equal elements, or the last with `select_last_index`. }];
  let arguments = (ins ONNX_Tensor:$x, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$keepdims,
    DefaultValuedAttr<BoolAttr, "false">:$select_last_index);
  let results = (outs ONNX_Tensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::kedge::inferReduction(location, adaptor.getX(), {static_cast<int64_t>(adaptor.getAxis())},
                                     adaptor.getKeepdims(), types, ::mlir::IntegerType::get(context, 64));
    }
  }];
}
def ONNX_ArgMaxOp : ONNX_ArgExtremum<"ArgMax", "Index of the greatest element along the axis">;
def ONNX_ArgMinOp : ONNX_ArgExtremum<"ArgMin", "Index of the least element along the axis">;

def ONNX_TopKOp : ONNX_Op<"TopK", [Differentiable]> {
  let summary = "The k greatest (or least) elements along the axis, sorted, and their indices";
  let arguments = (ins ONNX_Tensor:$x, I64Attr:$k, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "true">:$largest,
    DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs ONNX_Tensor:$values, ONNX_Tensor:$indices);
}
#endif
