// Pieces of work that do not depend on each other, on all processors.
#pragma once
#include "lib/Support/Reporter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"
#include <exception>
#include <mutex>

namespace kedge {

/// Calls work(0) to work(count - 1) and returns when all have ended. Throws what the first of them to fail
/// threw; what they say is lost. They are asked to end when the calling thread is.
inline void sideBySide(size_t count, llvm::function_ref<void(size_t)> work) {
  llvm::DefaultThreadPool pool(llvm::optimal_concurrency(static_cast<unsigned>(count)));
  std::mutex mutex;
  std::exception_ptr failure;
  const Reporter &asking = reporter();
  for (size_t i = 0; i < count; ++i)
    pool.async([&, i] {
      SilentReporter silent(&asking);
      const ReporterScope scope(silent);
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure)
          failure = std::current_exception();
      }
    });
  pool.wait();
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace kedge
