// An op that runs as a call of a runtime kernel, and what its calls let the schedule do.
#ifndef KEDGE_LIBRARY_CALL_OP_INTERFACE
#define KEDGE_LIBRARY_CALL_OP_INTERFACE
include "mlir/IR/OpBase.td"

def LibraryCallOpInterface : OpInterface<"LibraryCallOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    Asked on the op's name by `sched.library`, which has the op's operands and attributes but is no such op any more. An op
    without this interface has the default facts.
  }];
  let methods = [
    StaticInterfaceMethod<[{The operand onto which the result may be written while it is added, or -1. Its type is the
      result's.}],
      "int", "addendInPlace", (ins "::mlir::DictionaryAttr":$attrs, "::mlir::TypeRange":$operands, "bool":$onGpu), "",
      "return -1;">,
    StaticInterfaceMethod<"Share of the definition's FLOPs that a GPU's kernel computes a second time.",
      "double", "repeatedShare", (ins), "", "return 0;">
  ];
}
#endif
