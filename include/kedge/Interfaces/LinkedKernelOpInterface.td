// An op whose kernel for the CPU is a function that others wrote, in an object file that programs are linked with.
#ifndef KEDGE_LINKED_KERNEL_OP_INTERFACE
#define KEDGE_LINKED_KERNEL_OP_INTERFACE
include "mlir/IR/OpBase.td"

def LinkedKernelOpInterface : OpInterface<"LinkedKernelOpInterface"> {
  let cppNamespace = "::kedge";
  let description = [{
    Such an op is a library call of the schedule (`sched.library`), whose operands and attributes are the op's, and is asked by
    its name there. The function has the form `kedge_kernel` of kedge/kernel.h. It runs on CPUs; programs for GPUs
    are refused.
  }];
  let methods = [
    StaticInterfaceMethod<"The function's name, as C has it.", "std::string", "kernelFunction", (ins)>,
    StaticInterfaceMethod<[{The file that has it: an object file, or an archive, all of whose objects are linked. `machine`:
      empty for the processors of the compiler's own family with Linux, otherwise as --cpu names it, as "aarch64-linux". Empty: there
      is none for that machine.}],
      "std::string", "kernelFile", (ins "::llvm::StringRef":$machine)>,
    StaticInterfaceMethod<[{Into how many parts the work may be cut, which run at the same time; 1 if it cannot be. Results must
      not depend on the cut.}],
      "int64_t", "kernelIterations",
      (ins "::mlir::DictionaryAttr":$attrs, "::mlir::TypeRange":$operands, "::mlir::TypeRange":$results), "", "return 1;">,
    StaticInterfaceMethod<[{FLOPs of a call, for predicted times; a multiply-add counts 2. By default those of a call that moves
      its operands.}],
      "double", "kernelFlops",
      (ins "::mlir::DictionaryAttr":$attrs, "::mlir::TypeRange":$operands, "::mlir::TypeRange":$results), "", "return 0;">
  ];
}
#endif
