#ifndef KEDGE_DIST_ATTRS
#define KEDGE_DIST_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "kedge/Dialect/Dist/DistDialect.td"

def Dist_MeshAttr : AttrDef<Dist_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "How the ranks of a run are arranged: named axes and the ranks along each";
  let description = [{
    `module attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 4]>}`. Ranks are numbered with the first axis outermost.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, ArrayRefParameter<"int64_t">:$sizes);
  let assemblyFormat = "`<` `[` $axes `]` `=` `[` $sizes `]` `>`";
  let extraClassDeclaration = [{
    /// Ranks along an axis, or along several that commas join; 0 when there is none of that name.
    int64_t sizeOf(::llvm::StringRef axes) const;
    /// All ranks.
    int64_t ranks() const;
  }];
  let genVerifyDecl = 1;
}

def Dist_ShardingAttr : AttrDef<Dist_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "The whole that a state is a part of, and the ranks that have the others";
  let description = [{
    `train.state moment1 @m tensor<1728xf32> {sharding = #dist.sharding<[48, 144] over "data" = 4>}`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::StringAttr":$axis, "int64_t":$ranks);
  let assemblyFormat = "`<` `[` $shape `]` `over` $axis `=` $ranks `>`";
  let genVerifyDecl = 1;
}
#endif
