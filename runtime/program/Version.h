// Which Kedge this is. The text is made at build time (cmake/WriteVersion.cmake).
#pragma once

namespace kedge::rt {

/// "kedge 0.1.0 (commit 0123456789ab, LLVM 22.1.8)"; without the commit when the source was no git repository.
const char *version();

} // namespace kedge::rt
