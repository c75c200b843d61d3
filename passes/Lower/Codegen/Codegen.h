// Kernel functions -> native object code.
#pragma once
#include "lib/Support/FileCache.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace kedge::lower {

struct KernelTarget {
  std::string triple;   ///< "x86_64-pc-linux-gnu"
  std::string cpu;      ///< as LLVM names it: "x86-64-v4"
  std::string features; ///< LLVM's feature string, beyond what `cpu` has
  /// Features that the program checks at start, as __builtin_cpu_supports spells them; sorted.
  std::vector<std::string> required;
  std::string name = {}; ///< as --cpu spells it
  int vectorScale = 0;   ///< SVE's vectors have this many times 128 bits; 0: any number

  /// The highest level of the machine that the compiler runs on.
  static KernelTarget host();
  /// A level of the x86-64 psABI, x86-64-v3 or x86-64-v4, the same for Windows, x86_64-windows+v3 or
  /// x86_64-windows+v4, and for macOS, x86_64-macos; or 64-bit Arm: aarch64-android, aarch64-ios,
  /// aarch64-macos, aarch64-linux, with SVE aarch64-linux+sve or, for vectors of 256 bits,
  /// aarch64-linux+sve256. Throws kedge::Error for another name.
  static KernelTarget level(llvm::StringRef name);
  /// "aarch64-linux", "x86_64-windows" and so on for the targets of that kind, whose programs are linked with
  /// a runtime of their own; "" for Linux on a processor of the compiler's family.
  std::string otherMachine() const;
};

/// Lowers a module of kernels (destroying its contents) and generates position-independent code, an object
/// for each kernel, on a few threads. Equal modules give equal bytes, which come from `cache` where it has
/// them. No value-changing transformation is used: results depend on the IR only, not on `optLevel` (0 to 3)
/// or the target.
mlir::FailureOr<ObjectFiles> compileKernels(mlir::ModuleOp kernels, const KernelTarget &target,
                                            int optLevel = 2, FileCache *cache = nullptr);

/// Puts `prefix` in front of the names of all kernels, and `suffix` behind.
void renameKernels(mlir::ModuleOp kernels, llvm::StringRef prefix, llvm::StringRef suffix);

/// A kernel of the program's table: its name there, and that of the function.
struct KernelEntry {
  std::string name, function;
};

/// What a program's tables name: generated kernels, whose functions have their names, `linked` ones of
/// others, and functions that register library kernels.
struct ProgramTables {
  std::vector<std::string> kernels;
  std::vector<KernelEntry> linked;
  std::vector<std::string> registrations;
};
/// The object that defines the symbols of include/kedge/abi.h. Functions are declared, not defined, here.
ObjectFile emitProgramImage(llvm::StringRef json, llvm::ArrayRef<char> data, const ProgramTables &tables,
                            const KernelTarget &target);

} // namespace kedge::lower
