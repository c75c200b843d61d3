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
  I32EnumAttrCase<"Scaler", 11, "scaler">,
  I32EnumAttrCase<"Average", 12, "average">,
  I32EnumAttrCase<"Residual", 13, "residual">
]> { let cppNamespace = "::kedge::train"; let genSpecializedAttr = 0; }
def Train_RoleAttr : EnumAttr<Train_Dialect, Train_Role, "role">;

def Train_WeightAttr : AttrDef<Train_Dialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "A range of a file that holds a tensor, little-endian and contiguous";
  let parameters = (ins StringRefParameter<"file">:$file, "int64_t":$offset, "int64_t":$length);
  let assemblyFormat = "`<` $file `[` $offset `,` `+` $length `]` `>`";
}

def Train_FunctionKind : I32EnumAttr<"FunctionKind", "what a function does in a run", [
  I32EnumAttrCase<"Model", 0, "model">,
  I32EnumAttrCase<"Init", 1, "init">,
  I32EnumAttrCase<"Step", 2, "step">,
  I32EnumAttrCase<"Micro", 3, "micro">,
  I32EnumAttrCase<"Update", 4, "update">,
  I32EnumAttrCase<"Eval", 5, "eval">,
  I32EnumAttrCase<"Predict", 6, "predict">,
  I32EnumAttrCase<"Restore", 7, "restore">
]> { let cppNamespace = "::kedge::train"; let genSpecializedAttr = 0; }
/// Of a function, as `train.kind`. Programs know their functions by these names, so a function has its kind's.
def Train_FunctionKindAttr : EnumAttr<Train_Dialect, Train_FunctionKind, "kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Train_BindingKind : I32EnumAttr<"BindingKind", "what an argument or a result of a function is outside it", [
  I32EnumAttrCase<"State", 0, "state">,
  I32EnumAttrCase<"Input", 1, "input">,
  I32EnumAttrCase<"Scalar", 2, "scalar">,
  I32EnumAttrCase<"Result", 3, "result">,
  I32EnumAttrCase<"Output", 4, "output">,
  I32EnumAttrCase<"AlgorithmOutput", 5, "algorithm_output">,
  I32EnumAttrCase<"Gradient", 6, "gradient">
]> { let cppNamespace = "::kedge::train"; let genSpecializedAttr = 0; }

def Train_BindingAttr : AttrDef<Train_Dialect, "Binding"> {
  let mnemonic = "binding";
  let summary = "What an argument or a result of a function is outside it";
  let description = [{
    Arguments: `state` (the value of a train.state), `input` (data), `scalar` (written by the host before the function
    runs). Results: `state` (its new value), `result` (read by the host), `output` (of the model), `algorithm_output`
    (of the model's training_info), `gradient` (of a parameter). States and gradients name a train.state by its symbol,
    the others carry the name that the host knows.

    An output that the host reads in parts, each right after the launch that writes it, is as many results: `part` is
    the first element of this one, behind `of` the type of all together.

    ```mlir
    func.func @step(%w: tensor<4xf32> {train.binding = #train.binding<state @w>},
                    %x: tensor<4xf32> {train.binding = #train.binding<input "x">})
        -> (tensor<4xf32> {train.binding = #train.binding<output "y" part 4 of tensor<8xf32>>})
    ```
  }];
  let parameters = (ins EnumParameter<Train_BindingKind>:$kind, "::mlir::Attribute":$target,
    OptionalParameter<"std::optional<int64_t>">:$part, OptionalParameter<"::mlir::Type">:$whole);
  let assemblyFormat = "`<` $kind $target (`part` $part^ `of` $whole)? `>`";
  let builders = [AttrBuilder<(ins "BindingKind":$kind, "::llvm::StringRef":$name), [{
    return $_get($_ctxt, kind, targetOf($_ctxt, kind, name), std::nullopt, ::mlir::Type());
  }]>];
  let extraClassDeclaration = [{
    /// Whether `kind` names a train.state.
    static bool namesState(BindingKind kind) { return kind == BindingKind::State || kind == BindingKind::Gradient; }
    /// The symbol of a state or gradient, the name of anything else.
    ::llvm::StringRef getName() const;
    /// Of a state or gradient; null otherwise.
    ::mlir::FlatSymbolRefAttr getSymbol() const;
    bool is(BindingKind kind) const { return getKind() == kind; }
    bool is(BindingKind kind, ::llvm::StringRef name) const { return is(kind) && getName() == name; }
    static ::mlir::Attribute targetOf(::mlir::MLIRContext *context, BindingKind kind, ::llvm::StringRef name);
  }];
  let genVerifyDecl = 1;
}
def Train_BindingArrayAttr : TypedArrayAttrBase<Train_BindingAttr, "bindings">;
#endif
