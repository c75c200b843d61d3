// What LLVM's libraries add to the options of a tool, and how they end it.
#pragma once
#include "runtime/io/StandardFiles.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

namespace kedge::tool {

/// Before a tool adds options of its own: --help lists none of those that code generators declare;
/// --help-hidden does.
inline void hideLibraryOptions() {
  for (const auto &entry : llvm::cl::getRegisteredOptions()) {
    const llvm::StringRef name = entry.first;
    if (!name.starts_with("kedge") && !name.starts_with("help") && name != "version" && name != "color")
      entry.second->setHiddenFlag(llvm::cl::Hidden);
  }
}

/// Whether a stream of LLVM's ended since nobody reads its pipe any more, as behind `| head`.
inline bool isLostReader(const char *reason) {
  return llvm::StringRef(reason).starts_with("IO failure on output stream") &&
         rt::platform::outputHasNoReader();
}

} // namespace kedge::tool
