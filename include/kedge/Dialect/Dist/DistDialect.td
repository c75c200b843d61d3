#ifndef KEDGE_DIST_DIALECT
#define KEDGE_DIST_DIALECT
include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::kedge::dist";
  let summary = "What ranks send each other";
  let description = [{
    One program runs on all ranks, which form a mesh with named axes: the module's `dist.mesh`. A collective joins the
    ranks along one axis, or along several: those that have the same place along all other axes. Each of them issues the same
    collectives in the same order.

    A shard is a tensor cut into equal parts, one per rank along the axis: its elements in row-major order, ceil(elements / ranks) of them
    each. The last parts end in padding, which is zero and is never sent; a tensor of fewer elements than ranks leaves
    some ranks with nothing but padding.

    Values that are not shards are either alike on all ranks (parameters, what was gathered or reduced) or of the rank's
    own rows (activations, gradients before they are reduced).
  }];
  /// DistAttrs.h says what each of them is.
  let discardableAttrs = (ins "::kedge::dist::MeshAttr":$mesh, "::mlir::IntegerAttr":$stage, "::mlir::DenseI64ArrayAttr":$ranks,
    "::mlir::IntegerAttr":$parts, "::mlir::UnitAttr":$joined, "::mlir::ArrayAttr":$annotations, "::mlir::IntegerAttr":$pipeline_stage,
    "::kedge::dist::TimetableAttr":$timetable, "::kedge::dist::CutAttr":$cut, "::kedge::dist::CutAttr":$scatter);
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}
#endif
