#ifndef KEDGE_EXEC_DIALECT
#define KEDGE_EXEC_DIALECT
include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::kedge::exec";
  let summary = "Bytes, lifetimes and launches: what the machine does";
  let description = [{ `exec.offset` on a train.state is where the state lies in its arena, in bytes. }];
  let discardableAttrs = (ins "::mlir::IntegerAttr":$offset);
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::kedge::train::TrainDialect"]; // bindings and kinds of functions
}
#endif
