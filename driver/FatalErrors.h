// What LLVM and MLIR end the process for, as an error like any other.
#pragma once
#include "driver/Diagnostics.h"
#include "llvm/Support/ErrorHandling.h"

namespace kedge::driver {

/// While it lives, a fatal error of LLVM's (the types of an op that cannot be inferred, an assertion) ends
/// the process with exit code 1 after what was reported, or `otherwise` with LLVM's reason; temporary files
/// are removed. Nothing is thrown: LLVM's own functions are built without exceptions.
class FatalErrors {
public:
  FatalErrors(const Diagnostics &diagnostics, const std::string &otherwise);

private:
  [[noreturn]] void end(const char *reason) const;

  const Diagnostics &diagnostics;
  const std::string &otherwise;
  llvm::ScopedFatalErrorHandler handler;
};

} // namespace kedge::driver
