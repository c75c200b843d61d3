#ifndef KEDGE_DIST_ATTRS
#define KEDGE_DIST_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "kedge/Dialect/Dist/DistDialect.td"
include "kedge/Dialect/Kedge/Word.td"

class Dist_Enum<string name, string text, list<I32EnumCase> cases> : I32Enum<name, text, cases> {
  let cppNamespace = "::kedge::dist";
}
def Dist_ReduceKind : Dist_Enum<"ReduceKind", "what ranks make of their tensors", [
  I32EnumCase<"Sum", 0, "sum">, I32EnumCase<"Max", 1, "max">]>;
def Dist_SumOrder : Dist_Enum<"SumOrder", "in which order a sum over ranks goes, if not in that of ranks", [
  I32EnumCase<"Tree", 0, "tree">]>;
def Dist_SlotPart : Dist_Enum<"SlotPart", "what of a micro-batch a stage computes", [
  I32EnumCase<"Forward", 0, "forward">, I32EnumCase<"Backward", 1, "backward">, I32EnumCase<"Weights", 2, "weights">]>;

def Dist_MeshAttr : AttrDef<Dist_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "How the ranks of a run are arranged: named axes and the ranks along each";
  let description = [{
    `module attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 4]>}`. Ranks are numbered with the first axis outermost.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, ArrayRefParameter<"int64_t">:$sizes);
  let assemblyFormat = "`<` custom<List>($axes) `=` custom<List>($sizes) `>`";
  let extraClassDeclaration = [{
    /// Ranks along an axis, or along several that commas join; 0 when there is none of that name.
    int64_t sizeOf(::llvm::StringRef axes) const;
    /// All ranks.
    int64_t ranks() const;
  }];
  let genVerifyDecl = 1;
}

def Dist_CutAttr : AttrDef<Dist_Dialect, "Cut"> {
  let mnemonic = "cut";
  let summary = "One dimension of a tensor, cut into blocks of equal room over the ranks along an axis";
  let description = [{
    `#dist.cut<1 over "tensor" = 2>`: rank i has elements [i c, (i + 1) c) of the dimension, where c = ceil(size / ranks); the last ranks have
    fewer, and padding behind them. `sections [48, 48, 48]`: the dimension is several tensors in a row, each of them is cut by
    itself, and a rank has its block of each, in a row. `unit 8`: blocks end between groups of 8 elements, such as heads.
  }];
  let parameters = (ins "int64_t":$dim, "::mlir::StringAttr":$axis, "int64_t":$ranks,
                        OptionalArrayRefParameter<"int64_t">:$sections, DefaultValuedParameter<"int64_t", "1">:$unit);
  let assemblyFormat = "`<` $dim `over` $axis `=` $ranks (`sections` `[` $sections^ `]`)? (`unit` $unit^)? `>`";
  let extraClassDeclaration = [{
    /// The elements of a dimension of this size that each rank has room for.
    int64_t room(int64_t size) const;
  }];
  let genVerifyDecl = 1;
}

def Dist_SpecAttr : AttrDef<Dist_Dialect, "Spec"> {
  let mnemonic = "spec";
  let summary = "How a node of the model wants one of its tensors: whole on every rank, or cut";
  let description = [{
    `#dist.spec<"w" cut <1 over "tensor" = 2>>`, or `#dist.spec<"x">` for a whole one. The tensor has its name in the file.
  }];
  let parameters = (ins "::mlir::StringAttr":$tensor, OptionalParameter<"CutAttr">:$cut);
  let assemblyFormat = "`<` $tensor (`cut` $cut^)? `>`";
}

def Dist_AnnotationAttr : AttrDef<Dist_Dialect, "Annotation"> {
  let mnemonic = "annotation";
  let summary = "What a device configuration of the file says of a node";
  let description = [{
    `#dist.annotation<#kedge.place<forward "", "up"> reads ["x", "w"] makes ["y"] specs [<"w" cut <1 over "tensor" = 2>>]>`. The module's
    `dist.annotations` has one for each node that has a `stage` of the pipeline (from 0) and, where any node has specs, one for
    each node. `reads` and `makes` are the node's tensors in order, none where they are known before the step.
  }];
  let parameters = (ins "::mlir::Attribute":$place, OptionalArrayRefParameter<"::mlir::StringAttr">:$inputs,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$outputs, OptionalArrayRefParameter<"SpecAttr">:$specs,
                        DefaultValuedParameter<"int64_t", "-1">:$stage);
  let assemblyFormat = "`<` $place (`reads` `[` $inputs^ `]`)? (`makes` `[` $outputs^ `]`)? (`specs` `[` $specs^ `]`)? (`stage` $stage^)? `>`";
}

def Dist_ShardingAttr : AttrDef<Dist_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "The whole that a state is a part of, and the ranks that have the others";
  let description = [{
    `train.state moment1 @m tensor<1728xf32> {sharding = #dist.sharding<[48, 144] over "data" = 4>}` is a flat part;
    `train.state moment1 @m tensor<48x72xf32> {sharding = #dist.sharding<[48, 144] cut [<1 over "tensor" = 2>]>}` is a box.
    With both, the box is cut into flat parts. In the program of a pipeline's stage,
    `train.state moment1 @m tensor<0xf32> {sharding = #dist.sharding<[48, 144] on [1] from 0>}` is held by stage 1 alone, and seen from
    stage 0, where nothing of it is.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, OptionalArrayRefParameter<"CutAttr">:$cuts,
                        OptionalParameter<"::mlir::StringAttr">:$axis, DefaultValuedParameter<"int64_t", "1">:$ranks,
                        OptionalArrayRefParameter<"int64_t">:$stages, DefaultValuedParameter<"int64_t", "-1">:$own);
  let assemblyFormat = "`<` custom<List>($shape) (`cut` `[` $cuts^ `]`)? (`over` $axis^ `=` $ranks)? (`on` `[` $stages^ `]` `from` $own)? `>`";
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::StringAttr":$axis, "int64_t":$ranks), [{
    return $_get($_ctxt, shape, ::llvm::ArrayRef<CutAttr>(), axis, ranks, ::llvm::ArrayRef<int64_t>(), -1);
  }]>, AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::llvm::ArrayRef<CutAttr>":$cuts, "::mlir::StringAttr":$axis,
                        "int64_t":$ranks), [{
    return $_get($_ctxt, shape, cuts, axis, ranks, ::llvm::ArrayRef<int64_t>(), -1);
  }]>];
  let extraClassDeclaration = [{
    bool isFlat() const { return static_cast<bool>(getAxis()); }
    /// Whether the program's own stage holds it, or its part of it.
    bool isHere() const { return getStages().empty() || ::llvm::is_contained(getStages(), getOwn()); }
    /// The same tensor, held by these stages of a pipeline, in the program of one of its stages.
    ShardingAttr on(::llvm::ArrayRef<int64_t> stages, int64_t own) const {
      return get(getContext(), getShape(), getCuts(), getAxis(), getRanks(), stages, own);
    }
    /// The type of the rank's part of a tensor of this shape.
    ::mlir::RankedTensorType partOf(::mlir::Type whole) const;
  }];
  let genVerifyDecl = 1;
}

def Dist_SlotAttr : AttrDef<Dist_Dialect, "Slot"> {
  let mnemonic = "slot";
  let summary = "A part of one micro-batch on one stage of a pipeline, and when it is predicted to run";
  let description = [{
    `#dist.slot<forward of 2 stage 1, 0.5 to 1.0>`: micro-batch 2; seconds from the begin of the step. The parts are `forward`,
    `backward` and `weights` (gradients of weights, where a schedule runs them apart).
  }];
  let parameters = (ins EnumParameter<Dist_SlotPart>:$part, "int64_t":$micro, "int64_t":$stage, "::mlir::FloatAttr":$begin, "::mlir::FloatAttr":$end);
  let assemblyFormat = "`<` $part `of` $micro `stage` $stage `,` $begin `to` $end `>`";
  let genVerifyDecl = 1;
}

def Dist_TimetableAttr : AttrDef<Dist_Dialect, "Timetable"> {
  let mnemonic = "timetable";
  let summary = "What the stages of a pipeline run for each micro-batch, and when";
  let description = [{
    On the module of a rank's program, which has all ranks' slots: `dist.timetable = #dist.timetable<"1f1b" seconds [0.1, 0.2] modules [["h.0"], ["h.1"]] slots [...]>`.
    `seconds`: of a micro-batch on each stage, forward and backward; `modules`: those whose forward ops a stage has. Stage k is on the
    rank k % (ranks along `pipeline`).
  }];
  let parameters = (ins "::mlir::StringAttr":$schedule, "::mlir::DenseF64ArrayAttr":$seconds, "::mlir::ArrayAttr":$modules, ArrayRefParameter<"SlotAttr">:$slots);
  let assemblyFormat = "`<` $schedule `seconds` $seconds `modules` $modules `slots` custom<List>($slots) `>`";
}
#endif
