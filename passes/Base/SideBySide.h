// Pieces of work that do not depend on each other, on all processors.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

namespace kedge {

/// Calls work(0) to work(count - 1) and returns when all have ended. What these throw ends the process; what
/// they say is lost.
inline void sideBySide(size_t count, llvm::function_ref<void(size_t)> work) {
  llvm::DefaultThreadPool pool(llvm::optimal_concurrency(static_cast<unsigned>(count)));
  for (size_t i = 0; i < count; ++i)
    pool.async([=] { work(i); });
  pool.wait();
}

} // namespace kedge
