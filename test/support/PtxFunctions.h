// What PTX instructions without side effects compute.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace kedge::test {

/// Of up to three registers of 64 bits, whose low bytes hold a value and whose others are zero.
using PtxFunction = uint64_t (*)(uint64_t, uint64_t, uint64_t);

/// By mnemonic: "add.rn.f32"; null where the interpreter does not know it. Approximations are those of the
/// simulator of threads (GpuThreads.cpp); nothing is contracted.
PtxFunction ptxFunction(const std::string &mnemonic);

} // namespace kedge::test
