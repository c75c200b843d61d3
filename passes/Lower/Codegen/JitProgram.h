// Kernels in this process: what tests and `kedge-bench` run without a linker.
#pragma once
#include "kedge/abi.h"
#include "lib/Support/ObjectFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace kedge::lower {

class JitProgram {
public:
  /// Loads objects of compileKernels. Throws kedge::Error when they cannot be linked.
  static std::unique_ptr<JitProgram> create(llvm::ArrayRef<ObjectFile> objects);
  ~JitProgram();
  /// Throws kedge::Error when there is no such kernel. Valid as long as this object lives.
  KedgeKernel lookup(llvm::StringRef name);

private:
  explicit JitProgram(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace kedge::lower
