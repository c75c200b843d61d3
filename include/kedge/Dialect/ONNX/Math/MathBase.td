// Classes of elementwise ops: operands of one element type that broadcast as numpy's do.
#ifndef KEDGE_ONNX_MATH_BASE
#define KEDGE_ONNX_MATH_BASE
include "kedge/Dialect/ONNX/OnnxBase.td"

/// Elementwise over the broadcast shape, in the element type of the operands. A rank-0 float operand may
/// have another float type: as PyTorch's scalars it does not widen the result. `derivatives`: the gradient of each
/// operand from `grad`, that of the result, written with the ops of `math` (GradientBuilder); empty: written in C++.
class ONNX_Elementwise<string mnemonic, list<Trait> traits = [], list<string> derivatives = []>
    : ONNX_Op<mnemonic, !listconcat([Pointwise, ComputesEachElement],
                                    !if(!empty(derivatives), []<Trait>, [Differentiable]), traits)> {
  let results = (outs ONNX_Tensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::kedge::inferElementwise(location, adaptor.getOperands(), types);
    }
  }] # !if(!empty(derivatives), "", [{
    ::llvm::LogicalResult $cppClass::buildGradient(::mlir::OpBuilder &builder, ::mlir::ValueRange resultGrads,
                                                   ::llvm::SmallVectorImpl<::mlir::Value> &operandGrads) {
      using F [[maybe_unused]] = ::kedge::train::PointwiseFunction;
      ::kedge::GradientBuilder math{builder, getLoc()};
      ::mlir::Value grad = resultGrads[0];
      operandGrads.append({}] # !interleave(derivatives, ", ") # [{});
      return ::mlir::success();
    }
  }]);
}

class ONNX_Unary<string mnemonic, list<Trait> traits = [], list<string> derivatives = []>
    : ONNX_Elementwise<mnemonic, traits, derivatives> {
  let arguments = (ins ONNX_Tensor:$x);
}

/// A function whose derivative train.pointwise_grad computes from `reads`, the operand or the result: what PyTorch saves.
class ONNX_Function<string mnemonic, string text, string reads = "getX()", list<Trait> traits = [],
                    string derivative = "math.pointwise(F::" # mnemonic # ", {grad, " # reads # "})">
    : ONNX_Unary<mnemonic, traits, [derivative]> { let summary = text; }

/// Gradients are summed over the dims that broadcasting made.
class ONNX_Binary<string mnemonic, list<Trait> traits = [], string ofA = "", string ofB = "">
    : ONNX_Elementwise<mnemonic, traits, !if(!empty(ofA), []<string>, ["math.reduceTo(" # ofA # ", getA())",
                                                                       "math.reduceTo(" # ofB # ", getB())"])> {
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
