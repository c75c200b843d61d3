// What archives that are linked whole refer to (CMakeLists.txt).
#include <cstdio>

extern "C" {

/// In place of what starts LLVM's other targets.
void kedgeStartsNothing() {}

/// stderr, for archives that are not for shared libraries.
FILE *kedgeStandardError = stderr;
}
