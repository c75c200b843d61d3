#ifndef KEDGE_SCHED_ATTRS
#define KEDGE_SCHED_ATTRS
include "mlir/IR/EnumAttr.td"
include "lib/Dialect/Sched/SchedDialect.td"

def Sched_FoldKind : I32EnumAttr<"FoldKind", "how a reduction combines", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Mul", 1, "mul">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"UMin", 5, "umin">,
  I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">
]> { let cppNamespace = "::kedge::sched"; }
#endif
