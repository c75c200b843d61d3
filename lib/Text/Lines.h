// Printed IR in lines of a given width.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kedge::text {

/// The most characters that a line has, as far as a token of the IR is no longer.
inline constexpr size_t kWidth = 160;

/// The lines of `text`, each moved `indent` characters to the right; what exceeds kWidth goes on in the next
/// line, after a comma or a space that is in no string. MLIR's parser takes both alike.
std::string inLines(llvm::StringRef text, size_t indent);

} // namespace kedge::text
