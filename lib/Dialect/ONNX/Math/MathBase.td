// Classes of elementwise ops: operands of one element type that broadcast as numpy's do.
#ifndef KEDGE_ONNX_MATH_BASE
#define KEDGE_ONNX_MATH_BASE
include "lib/Dialect/ONNX/OnnxBase.td"

/// Elementwise over the broadcast shape, in the element type of the operands. A rank-0 float operand may
/// have another float type: as PyTorch's scalars it does not widen the result.
class ONNX_Elementwise<string mnemonic, list<Trait> traits = []>
    : ONNX_Op<mnemonic, !listconcat([Pointwise, ComputesEachElement], traits)> {
  let results = (outs ONNX_Tensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::kedge::inferElementwise(location, adaptor.getOperands(), types);
    }
  }];
}

class ONNX_Unary<string mnemonic, list<Trait> traits = []> : ONNX_Elementwise<mnemonic, traits> {
  let arguments = (ins ONNX_Tensor:$x);
}

class ONNX_Binary<string mnemonic, list<Trait> traits = []> : ONNX_Elementwise<mnemonic, traits> {
  let arguments = (ins ONNX_Tensor:$a, ONNX_Tensor:$b);
}

/// A unary op whose result has another element type: the infer method is written in C++.
class ONNX_Test<string mnemonic, list<Trait> traits = []>
    : ONNX_Op<mnemonic, !listconcat([Pointwise, ComputesEachElement], traits)> {
  let results = (outs ONNX_Tensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::kedge::inferElementwise(location, adaptor.getOperands(), types,
                                       ::mlir::IntegerType::get(context, 1));
    }
  }];
}
#endif
