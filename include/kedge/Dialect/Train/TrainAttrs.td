#ifndef KEDGE_TRAIN_ATTRS
#define KEDGE_TRAIN_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "kedge/Dialect/Train/TrainDialect.td"

def Train_Role : I32EnumAttr<"Role", "what a state is for", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Frozen", 1, "frozen">,
  I32EnumAttrCase<"Buffer", 2, "buffer">,
  I32EnumAttrCase<"Constant", 3, "constant">,
  I32EnumAttrCase<"Moment1", 4, "moment1">,
  I32EnumAttrCase<"Moment2", 5, "moment2">,
  I32EnumAttrCase<"Momentum", 6, "momentum">,
  I32EnumAttrCase<"Accumulator", 7, "accumulator">,
  I32EnumAttrCase<"Counter", 8, "counter">,
  I32EnumAttrCase<"State", 9, "state">,
  I32EnumAttrCase<"WorkingCopy", 10, "working_copy">,
  I32EnumAttrCase<"Scaler", 11, "scaler">
]> { let cppNamespace = "::kedge::train"; let genSpecializedAttr = 0; }
def Train_RoleAttr : EnumAttr<Train_Dialect, Train_Role, "role">;

def Train_WeightAttr : AttrDef<Train_Dialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "A range of a file that holds a tensor, little-endian and contiguous";
  let parameters = (ins StringRefParameter<"file">:$file, "int64_t":$offset, "int64_t":$length);
  let assemblyFormat = "`<` $file `[` $offset `,` `+` $length `]` `>`";
}
#endif
