// A program as one file in C11 and its header: no allocation, no library but libm, for machines without an
// operating system.
#pragma once
#include "runtime/program/Program.h"
#include <string>

namespace kedge::exporter {

struct CFiles {
  std::string source, header;
};

/// Where the weights of the model are: in the C file, or in the arena before NAME_start runs.
enum class Weights { InFile, InArena };

/// `image` is the program's text with data that hold all weights; `kernels` are its kernels as kernelsInC
/// gives them, and `name` the prefix of all that the header declares, a word in C. Throws kedge::Error for
/// what has no form in C here, naming it.
CFiles programInC(const rt::ProgramImage &image, const std::string &kernels, const std::string &name,
                  Weights weights = Weights::InFile);

/// What NAME_predict runs; null: there is none.
const rt::Function *predictingFunction(const rt::Program &program);

} // namespace kedge::exporter
