// Reductions, softmax, cumulative sums, argmax.
#ifndef KEDGE_ONNX_REDUCTION_OPS
#define KEDGE_ONNX_REDUCTION_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

/// Folds the dims `axes` (import resolves negative axes, omitted axes and noop_with_empty_axes: no axis
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

def ONNX_ReduceSumOp : ONNX_Reduce<"ReduceSum"> { let summary = "Sum over axes"; }
#endif
