// Base classes of the onnx dialect: one canonical op per ONNX operator, newest form, static shapes.
#ifndef KEDGE_ONNX_BASE
#define KEDGE_ONNX_BASE
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "kedge/Interfaces/DifferentiableOpInterface.td"
include "kedge/Interfaces/ClusterableOpInterface.td"
include "kedge/Interfaces/ViewOpInterface.td"
include "kedge/Interfaces/DecomposableOpInterface.td"
include "kedge/Interfaces/PrecisionOpInterface.td"
include "kedge/Interfaces/LibraryCallOpInterface.td"
include "kedge/Dialect/ONNX/ONNXDialect.td"
include "kedge/Dialect/ONNX/OnnxEnums.td"

def ONNX_Tensor : RankedTensorOf<[AnyType]>;

/// Pure op whose result types follow from operands and attributes: each family implements
/// `inferReturnTypes(context, location, Adaptor, types)`. Prints as `onnx.Add %a, %b {..} : (..) -> ..`.
class ONNX_Op<string mnemonic, list<Trait> traits = []>
    : Op<ONNX_Dialect, mnemonic, !listconcat(traits, [Pure, InferTypeOpAdaptor])> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// Shorthands for the interface lists of ops.
defvar Differentiable = DeclareOpInterfaceMethods<DifferentiableOpInterface>;
defvar DifferentiableOperands =
    DeclareOpInterfaceMethods<DifferentiableOpInterface, ["isDifferentiableOperand"]>;
/// Elementwise with broadcasting: only the body is written.
defvar Pointwise = DeclareOpInterfaceMethods<ClusterableOpInterface>;
/// Own domain and maps.
defvar Clusterable = DeclareOpInterfaceMethods<ClusterableOpInterface, ["describeCluster"]>;
/// Own domain and maps, and only for some attributes or types.
defvar SometimesClusterable =
    DeclareOpInterfaceMethods<ClusterableOpInterface, ["describeCluster", "isClusterable"]>;
defvar View = DeclareOpInterfaceMethods<ViewOpInterface>;
defvar Decomposable = DeclareOpInterfaceMethods<DecomposableOpInterface>;
/// Calls of it add onto an operand where that lies.
defvar AddsInPlace = DeclareOpInterfaceMethods<LibraryCallOpInterface, ["addendInPlace"]>;
/// Decomposed where it trains and on targets without a kernel of it.
defvar KernelOrDecomposable = DeclareOpInterfaceMethods<DecomposableOpInterface, ["hasKernelOn"]>;
#endif
