// Which build of the compiler this process runs.
#pragma once
#include <string>

namespace kedge {

/// The build-ids of this executable and of the shared libraries that it was linked with, LLVM's among them:
/// another build, also of sources that no commit holds, has another. A file without one counts with all of
/// its bytes. Empty: they cannot be read.
const std::string &buildIdentity();

} // namespace kedge
