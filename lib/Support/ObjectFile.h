// Native object code in memory, from the code generator to the linker or to the loader inside this process.
#pragma once
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace kedge {
using ObjectFile = llvm::SmallVector<char, 0>;
using ObjectFiles = std::vector<ObjectFile>;
} // namespace kedge
