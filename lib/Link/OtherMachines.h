// Targets of cross-compilation, and what links for them.
#pragma once
#include "lib/Link/BuiltInLinker.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace kedge::link {

/// A kind of machine that a cross compiler of Debian links for.
struct OtherMachine {
  llvm::StringRef name, driver, package;
  bool isWindows = false;
};
/// Null for this machine, and for what another compiler links for (musl).
const OtherMachine *otherMachine(llvm::StringRef name);
bool isWindows(llvm::StringRef machine);

/// What the compiler driver needs to make an output of this form for Windows, behind the objects and
/// archives. `flags` are the linker's own.
std::vector<std::string> windowsFlags(OutputForm form, llvm::ArrayRef<std::string> flags);

/// A module-definition file of what a DLL exports: `functions`, and SYMBOL_open and SYMBOL_open_on as names
/// of two.
std::string moduleDefinition(const std::string &dll, llvm::ArrayRef<std::string> functions,
                             const std::string &symbol);
/// Writes the import library that linkers for Windows take in place of the DLL.
void writeImportLibrary(const std::string &file, const std::string &dll,
                        llvm::ArrayRef<std::string> functions);

} // namespace kedge::link
