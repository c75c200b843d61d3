#include "test/unit/runtime/RuntimeTest.h"

namespace kedge::test {

std::string tinyProgram() { return KEDGE_TINY_PROGRAM; }

} // namespace kedge::test
