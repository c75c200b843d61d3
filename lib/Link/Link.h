// Links object files and the runtime into an executable with a C++ compiler of the system: its own, or the
// cross compiler for another machine or C library.
#pragma once
#include "lib/Support/ObjectFile.h"
#include "llvm/ADT/ArrayRef.h"
#include <set>
#include <string>

namespace kedge::link {

/// What to link with the runtime: a program for a processor or for a GPU, or a library for a processor.
enum class RuntimeKind { Cpu, Cuda, Library };

/// The runtime's archives of a kind.
struct Runtime {
  RuntimeKind kind = RuntimeKind::Cpu;
  /// "aarch64-linux", "x86_64-windows", with musl "aarch64-linux-musl" or "x86_64-linux-musl"; empty: one
  /// like that which links.
  std::string machine;
  bool isStatic = false;  ///< the program holds libc, too, and opens no library
  bool isAndroid = false; ///< which takes programs of musl that may be loaded anywhere
};

/// Links a program and moves it to `output` in one step; an older file there stays intact until then.
/// Equal objects give equal bytes. The runtime's archives are found relative to the running executable,
/// in the build tree or in ../lib of an installation. Throws Error with the linker's message on failure.
void linkProgram(llvm::ArrayRef<ObjectFile> objects, const std::string &output, const Runtime &runtime = {});

/// Where --emit lib writes its files, and the prefix of the model's own functions.
struct LibraryPaths {
  std::string folder, name, symbol;
  std::string file(const std::string &name) const;
};
/// The place that -o DIR/NAME means. Throws Error if NAME cannot be the name of a library.
LibraryPaths libraryPaths(const std::string &output);

/// libNAME.so, NAME.dll for Windows, libNAME.dylib for macOS. `machine`: as Runtime's.
std::string libraryFile(const LibraryPaths &paths, const std::string &machine);
/// libNAME.a
std::string archiveFile(const LibraryPaths &paths);

/// Links libNAME.so, for Windows NAME.dll with NAME.lib, for macOS libNAME.dylib. It contains everything
/// except libc, libm and threads, and exports only the functions of session.h and of this model. Moved into
/// place as by linkProgram.
void linkLibrary(llvm::ArrayRef<ObjectFile> objects, const LibraryPaths &paths,
                 const std::string &machine = "");
/// The same as an archive, libNAME.a, that programs link: they need libstdc++, libm and threads besides.
/// Several models may be in one program. Throws Error for Windows.
void linkArchive(llvm::ArrayRef<ObjectFile> objects, const LibraryPaths &paths,
                 const std::string &machine = "");
/// Writes NAME.h, NAME.hpp and NAME.pc. `inputTypes`: the types of the model's inputs, as "f32": its own
/// sessions in C++ take no others. `machine`: as linkLibrary's.
void writeLibraryFiles(const LibraryPaths &paths, const std::set<std::string> &inputTypes,
                       const std::string &machine = "", bool isArchive = false);

/// Throws Error if that runtime is missing, or what links it. Called before any work is done.
void checkRuntime(const Runtime &runtime);

/// Joins the objects into one relocatable object at `output`, without the runtime, for users who link it
/// themselves.
void linkObjects(llvm::ArrayRef<ObjectFile> objects, const std::string &output,
                 const std::string &machine = "");

} // namespace kedge::link
