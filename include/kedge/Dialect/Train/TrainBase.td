// Base class of the train dialect's tensor ops.
#ifndef KEDGE_TRAIN_BASE
#define KEDGE_TRAIN_BASE
include "kedge/Dialect/ONNX/OnnxBase.td"
include "kedge/Dialect/Train/TrainAttrs.td"
include "kedge/Dialect/Train/TrainEnums.td"

/// Tensors of one element that the host writes before a step.
class Train_Rank0<code element, string summary>
    : Type<And<[ONNX_Tensor.predicate, CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">,
                CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()." # element>]>,
           summary, "::mlir::RankedTensorType">;
def Train_Counter : Train_Rank0<"isSignlessInteger(64)", "tensor<i64>">;
def Train_Scalar : Train_Rank0<"isFloat()", "tensor of one float, of rank 0">;

/// The first operand is [blocks, elements], and blocks do not depend on each other: all tensors that lead with the blocks
/// may be cut between them.
def UpdatesBlocks : NativeOpTrait<"UpdatesBlocks"> { let cppNamespace = "::kedge::train"; }

/// Pure tensor op; result types are inferred (`inferReturnTypes` with the adaptor).
class Train_Op<string mnemonic, list<Trait> traits = []>
    : Op<Train_Dialect, mnemonic, !listconcat(traits, [Pure, InferTypeOpAdaptor])> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
#endif
