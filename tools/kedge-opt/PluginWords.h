// --load-pass-plugin of tools whose other options are LLVM's.
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace kedge::tool {

/// The dialects of the compiler and of each --load-pass-plugin, which is taken out of the words: the flags of
/// a plugin's passes are there before the words are read. Throws kedge::Error.
mlir::DialectRegistry dialectsOfWords(int &argc, char **argv);

} // namespace kedge::tool
