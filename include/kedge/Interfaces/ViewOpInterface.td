// An op whose result is its operand's bytes under another shape.
#ifndef KEDGE_VIEW_OP_INTERFACE
#define KEDGE_VIEW_OP_INTERFACE
include "mlir/IR/OpBase.td"

def ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    Result 0 has the same elements in the same row-major order as operand 0. Costs nothing: both share
    a buffer.
  }];
  let methods = [];
}
#endif
