#ifndef KEDGE_SCHED_ATTRS
#define KEDGE_SCHED_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "kedge/Dialect/Sched/SchedDialect.td"

def Sched_ReductionKind : I32EnumAttr<"ReductionKind", "how a reduction combines", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Mul", 1, "mul">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"UMin", 5, "umin">,
  I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">
]> { let cppNamespace = "::kedge::sched"; }

def Sched_RecomputeAttr : AttrDef<Sched_Dialect, "Recompute"> {
  let mnemonic = "recompute";
  let summary = "What kedge-choose-recompute chose for a module, and what it knows of other choices";
  let description = [{
    Bytes are of the device's arena, reservations included. `overhead` and `lower_bound` are shares of the time of a step in
    which nothing runs again, `seconds`; `lower_bound` is what no plan of the same peak falls below. `frontier` has a
    dictionary of peak_bytes, overhead and lower_bound for each point.
  }];
  let parameters = (ins "::mlir::StringAttr":$policy, "::mlir::BoolAttr":$fits,
    OptionalParameter<"::mlir::IntegerAttr">:$budget_bytes, "::mlir::IntegerAttr":$unconstrained_peak_bytes,
    "::mlir::IntegerAttr":$unconstrained_transient_bytes, "::mlir::IntegerAttr":$smallest_feasible_bytes,
    "::mlir::IntegerAttr":$proven_floor_bytes, "::mlir::FloatAttr":$seconds, "::mlir::IntegerAttr":$ops,
    "::mlir::FloatAttr":$flops, "::mlir::FloatAttr":$overhead, "::mlir::FloatAttr":$lower_bound,
    "::mlir::ArrayAttr":$blocks, OptionalParameter<"::mlir::ArrayAttr">:$frontier);
  let assemblyFormat = "`<` struct(params) `>`";
}
#endif
