// Random numbers of the system.
#pragma once
#include <cstdint>

namespace kedge::rt {

/// 64 random bits. Throws rt::RuntimeError if the system gives none.
uint64_t randomBits();

} // namespace kedge::rt
