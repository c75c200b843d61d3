// An object with all that a library needs, as an archive for linkers.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include <string>

namespace kedge::link {

/// The bytes of an archive. LLVM's own writer of archive files takes hold of the process' signals, which are
/// those of an application that the compiler may be a part of. Throws Error.
std::unique_ptr<llvm::MemoryBuffer> archiveOf(llvm::ArrayRef<llvm::NewArchiveMember> members,
                                              llvm::SymtabWritingMode names);

/// Writes `archive` with one member, the relocatable object `object`, in which all symbols but `own` and
/// `common` are local. Those of `common` are weak: a program may link several such archives that define them,
/// and takes the first. Put in place by one rename. Throws Error.
void writeStaticLibrary(const std::string &object, const std::string &archive,
                        llvm::ArrayRef<std::string> own, llvm::ArrayRef<std::string> common);

} // namespace kedge::link
