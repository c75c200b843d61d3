#ifndef KEDGE_KEDGE_ATTRS
#define KEDGE_KEDGE_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "kedge/Dialect/Kedge/KedgeDialect.td"

def Kedge_TrainingPhase : I32EnumAttr<"TrainingPhase", "the part of a step", [
  I32EnumAttrCase<"Forward", 0, "forward">,
  I32EnumAttrCase<"Backward", 1, "backward">,
  I32EnumAttrCase<"Update", 2, "update">,
  I32EnumAttrCase<"Transfer", 3, "transfer">
]> { let cppNamespace = "::kedge"; let genSpecializedAttr = 0; }

def Kedge_PlaceAttr : AttrDef<Kedge_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "Where in the model and in the step an op belongs";
  let description = [{
    `module` is the dotted path of the module whose forward the op is part of, or the gradient of; empty when it is not
    known. `node` is the node of the exported file, or the parameter that an update or a copy between memories is of.

    ```mlir
    #kedge.place<backward "h.0.attn", "/h.0/attn/MatMul">
    ```
  }];
  let parameters = (ins EnumParameter<Kedge_TrainingPhase>:$phase, StringRefParameter<"path of the module">:$module,
    StringRefParameter<"name of the node">:$node);
  let assemblyFormat = "`<` $phase $module `,` $node `>`";
  let extraClassDeclaration = [{
    /// What kernels and buffers are called after: "backward", the module's path, or the node's name.
    llvm::StringRef label() const;
    /// The same place in another part of the step.
    PlaceAttr in(TrainingPhase phase) const;
  }];
}
#endif
