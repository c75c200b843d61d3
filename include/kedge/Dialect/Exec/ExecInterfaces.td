// What launches and copies have in common.
#ifndef KEDGE_EXEC_INTERFACES
#define KEDGE_EXEC_INTERFACES
include "mlir/IR/OpBase.td"

def Exec_LaunchInterface : OpInterface<"LaunchInterface"> {
  let cppNamespace = "::kedge::exec";
  let description = [{
    What takes a turn in a function: exec.launch and exec.copy. Lifetimes count turns, streams and events order them.
  }];
  let methods = [
    InterfaceMethod<"The kernel's name, or 'copy'", "::llvm::StringRef", "getKernel">,
    InterfaceMethod<"", "::mlir::OperandRange", "getReads">,
    InterfaceMethod<"", "::mlir::OperandRange", "getWrites">,
    InterfaceMethod<"What the turn needs for itself; null: nothing", "::mlir::Value", "getScratch">,
    InterfaceMethod<"", "uint64_t", "getStream">,
    InterfaceMethod<"", "void", "setStream", (ins "uint64_t":$stream)>,
    InterfaceMethod<"", "std::optional<::llvm::ArrayRef<int64_t>>", "getWaits">,
    InterfaceMethod<"", "void", "setWaitsAttr", (ins "::mlir::DenseI64ArrayAttr":$events)>,
    InterfaceMethod<"", "std::optional<uint64_t>", "getRecords">,
    InterfaceMethod<"", "void", "setRecords", (ins "std::optional<uint64_t>":$event)>
  ];
}
#endif
