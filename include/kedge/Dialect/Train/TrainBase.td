// Base class of the train dialect's tensor ops.
#ifndef KEDGE_TRAIN_BASE
#define KEDGE_TRAIN_BASE
include "kedge/Dialect/ONNX/OnnxBase.td"
include "kedge/Dialect/Train/TrainAttrs.td"

/// Pure tensor op; result types are inferred (`inferReturnTypes` with the adaptor).
class Train_Op<string mnemonic, list<Trait> traits = []>
    : Op<Train_Dialect, mnemonic, !listconcat(traits, [Pure, InferTypeOpAdaptor])> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
#endif
