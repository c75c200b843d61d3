// Links without a C++ compiler on the machine: LLD in this process, and the pieces that an installation
// brings.
#pragma once
#include <string>
#include <vector>

namespace kedge::link {

/// What is made: a position-independent executable, which may hold its libc, a shared library, one
/// relocatable object.
enum class OutputForm { Program, StaticProgram, Library, Object };

/// The folder `link` of an installation that has one, next to the runtime's archives in `runtimeFolder`: the
/// start files of libc and gcc, libstdc++.a, libgcc.a, libgcc_eh.a, libc_nonshared.a; for static programs
/// libc.a, libm.a, libmvec.a. Empty: there is none, or no LLD was built in.
std::string linkPieces(const std::string &runtimeFolder);

/// Links `inputs` (objects and archives by path, and "--..." words of the linker that hold for some) with the
/// pieces of that folder and with libc, libm and the loader of this machine, and writes `output`. `flags` are
/// the linker's own. Throws kedge::Error with the linker's text.
void linkBuiltIn(OutputForm form, const std::string &pieces, const std::vector<std::string> &inputs,
                 const std::vector<std::string> &flags, const std::string &output);

} // namespace kedge::link
