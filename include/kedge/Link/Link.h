// Objects + runtime -> executable, through the system's C++ compiler driver.
#pragma once
#include "kedge/Support/ObjectFile.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace kedge {

/// Which device the program's runtime knows.
enum class RuntimeKind { Cpu, Cuda };

/// Links a program and puts it at `output` in one step (an older file there stays whole until then). Equal
/// objects give equal bytes. The runtime's archives are found beside the running executable: in the build
/// tree, or in ../lib of an installation. Throws Error with the driver's message when linking fails.
void linkProgram(llvm::ArrayRef<ObjectFile> objects, const std::string &output, RuntimeKind runtime = RuntimeKind::Cpu);

/// Throws Error that says what is missing unless the runtime of that kind is there: told before any work.
void checkRuntime(RuntimeKind runtime);

/// Joins the objects into one relocatable object at `output`, without the runtime: for a linker of one's own.
void linkObjects(llvm::ArrayRef<ObjectFile> objects, const std::string &output);

} // namespace kedge
