// Objects + runtime -> executable, through the system's C++ compiler driver.
#pragma once
#include "kedge/Support/ObjectFile.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace kedge {

/// What the runtime's archives make: a program for the host or for a GPU, or a library for the host.
enum class RuntimeKind { Cpu, Cuda, Library };

/// Links a program and puts it at `output` in one step (an older file there stays whole until then). Equal
/// objects give equal bytes. The runtime's archives are found beside the running executable: in the build
/// tree, or in ../lib of an installation. Throws Error with the driver's message when linking fails.
void linkProgram(llvm::ArrayRef<ObjectFile> objects, const std::string &output, RuntimeKind runtime = RuntimeKind::Cpu);

/// Where --emit lib writes, and how the model's own functions begin.
struct LibraryPlace {
  std::string folder, name, symbol;
  std::string file(const std::string &name) const;
};
/// Of -o DIR/NAME. Throws Error where NAME cannot be a library's.
LibraryPlace libraryPlace(const std::string &output);

/// Links libNAME.so, which holds all that it needs but libc, libm and threads, and shows nothing but kedge_session.h's
/// functions and this model's own. Puts it in its place as linkProgram does.
void linkLibrary(llvm::ArrayRef<ObjectFile> objects, const LibraryPlace &place);
/// NAME.h, NAME.hpp and NAME.pc.
void writeLibraryFiles(const LibraryPlace &place);

/// Throws Error that says what is missing unless the runtime of that kind is there: told before any work.
void checkRuntime(RuntimeKind runtime);

/// Joins the objects into one relocatable object at `output`, without the runtime: for a linker of one's own.
void linkObjects(llvm::ArrayRef<ObjectFile> objects, const std::string &output);

} // namespace kedge
