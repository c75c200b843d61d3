// What is compiled as one object, under names that say nothing: equal kernels make equal objects wherever
// they stand.
#pragma once
#include "lib/Support/FileCache.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include <string>
#include <vector>

namespace kedge::lower::codegen {

struct UnitSymbol {
  std::string name;
  bool isShown; ///< other objects see it
};

/// A kernel, with the data that it uses.
struct KernelUnit {
  mlir::OwningOpRef<mlir::Operation *>
      module;                      ///< of the kind that it was taken from; its symbols are numbered
  std::vector<UnitSymbol> symbols; ///< what they are called
};

/// Takes the kernels out of their module (builtin or gpu), one each; kernels that use each other's symbols
/// stay together. Declarations are in each unit.
std::vector<KernelUnit> splitUnits(mlir::Operation *kernels);

/// Puts names in place of numbers, in a unit's object or assembly text. Throws kedge::Error where it lacks a
/// symbol.
void nameSymbols(ObjectFile &object, llvm::ArrayRef<UnitSymbol> symbols);
std::string withNames(llvm::StringRef text, llvm::ArrayRef<UnitSymbol> symbols);

/// Keys of what the code generator makes of kernels: the build of the compiler, what it is told, the kernels
/// operation by operation. Locations and what the plan notes on a kernel are left out. One of these serves
/// many kernels of a context.
class CodeKeys {
public:
  /// `told`: what kind of code is made, and all that its generator is told.
  explicit CodeKeys(const CacheKey &told) : told(told) {}
  /// None: there is more to the kernels than can be told, and nothing may be known by a key.
  std::optional<CacheKey> of(mlir::Operation *kernels);
  /// What a function and another have in common where one code with numbers that it is told can serve both;
  /// `numbers` are those that it has, in order. Its name is left out.
  std::string shapeOf(mlir::LLVM::LLVMFuncOp function,
                      llvm::SmallVectorImpl<mlir::arith::ConstantOp> &numbers);

private:
  struct Numbers {
    llvm::DenseMap<mlir::Value, uint64_t> values;
    llvm::DenseMap<mlir::Block *, uint64_t> blocks;
  };
  void write(mlir::Operation *op, Numbers &numbers);
  void write(mlir::Region &region, Numbers &numbers);
  void writeAttributes(mlir::Operation *op);
  void write(uint64_t number);
  void write(llvm::StringRef text);
  template <typename Printed> void writePrinted(Printed value);

  CacheKey told;
  std::string bytes;
  llvm::SmallVectorImpl<mlir::arith::ConstantOp> *leftOut = nullptr; ///< null: every number is told
  bool isWhole = true;
  llvm::DenseMap<const void *, std::string> printed; ///< attributes and types are unique in a context
};

} // namespace kedge::lower::codegen
