// Programs and libraries for macOS, which LLD links: it writes Mach-O files, and signs them ad hoc.
#pragma once
#include "lib/Link/BuiltInLinker.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace kedge::link {

/// LLD's linker of Mach-O files. Throws Error where there is none.
std::string machOLinker();

/// What is linked for macOS.
struct MacOsJob {
  std::string machine;               ///< "aarch64-macos", "x86_64-macos"
  std::string runtimeFolder;         ///< with a folder `link`: zig's libc++ and what libSystem has
  std::string objects;               ///< an archive that is linked whole
  std::vector<std::string> archives; ///< of which what is called is linked
  std::vector<std::string> flags;    ///< of the linker
};
/// The command, with the linker as its first word.
std::vector<std::string> macOsCommand(OutputForm form, const MacOsJob &job, const std::string &output);

/// Flags of a library that others find as @rpath/FILE, and that exports what `exportsFile` lists.
std::vector<std::string> macOsLibraryFlags(const std::string &file, const std::string &symbol);
/// What LLD reads as a list of exported symbols: `functions`, and SYMBOL_open and SYMBOL_open_on.
std::string exportedSymbols(llvm::ArrayRef<std::string> functions, const std::string &symbol);

} // namespace kedge::link
