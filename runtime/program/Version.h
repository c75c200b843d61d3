// The version of Kedge. cmake/WriteVersion.cmake writes the text when Kedge is built.
#pragma once

namespace kedge::rt {

/// "kedge 0.1.0 (commit 0123456789ab, LLVM 22.1.8)"; without the commit if the source was not a git
/// repository.
const char *version();

} // namespace kedge::rt
