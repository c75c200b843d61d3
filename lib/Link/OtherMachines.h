// Targets of cross-compilation, and what links for them.
#pragma once
#include "lib/Link/BuiltInLinker.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace kedge::link {

enum class System { Linux, Android, Windows, MacOs, Ios };

/// A kind of machine that Kedge compiles for elsewhere. `driver`: the cross compiler of Debian that links for
/// it, of the package `package`; empty: the compiler zig links, or (MacOs) LLD.
struct OtherMachine {
  llvm::StringRef name;
  System system = System::Linux;
  llvm::StringRef driver = {}, package = {};
};
/// Null for this machine.
const OtherMachine *otherMachine(llvm::StringRef name);
/// Linux for this machine.
System systemOf(llvm::StringRef machine);
inline bool isWindows(llvm::StringRef machine) { return systemOf(machine) == System::Windows; }
inline bool isMacOs(llvm::StringRef machine) { return systemOf(machine) == System::MacOs; }

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
