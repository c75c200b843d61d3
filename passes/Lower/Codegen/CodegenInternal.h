// What code generation and the program's data share.
#pragma once
#include "passes/Lower/Codegen/Codegen.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace kedge::lower::codegen {

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const KernelTarget &target, int level);
/// Gives a module the machine's triple and data layout.
void prepareModule(llvm::Module &module, const llvm::TargetMachine &machine);
/// LLVM's pipeline of a level (0 to 3) without its vectorizers: the kernels are vectors and unrolled already.
/// Above level 0 `pipeline`, as LLVM writes one, takes its place.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, int level, llvm::StringRef pipeline = {});
ObjectFile emitObject(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace kedge::lower::codegen
