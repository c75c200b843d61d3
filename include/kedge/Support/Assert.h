// What the project's own code promises, checked in every build: NDEBUG is set in all of them, because libMLIR
// has it, and would switch assert() off. Not for what users or files can bring about: that is an error with a
// message (Error.h, diagnostics).
#pragma once
#include "llvm/Support/ErrorHandling.h"

#define KEDGE_ASSERT(condition)                                                                              \
  ((condition) ? void() : llvm::report_fatal_error("this should hold: " #condition))
