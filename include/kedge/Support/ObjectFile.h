// Native object code in memory, as the code generator hands it to the linker or to the in-process loader.
#pragma once
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace kedge {
using ObjectFile = llvm::SmallVector<char, 0>;
using ObjectFiles = std::vector<ObjectFile>;
} // namespace kedge
