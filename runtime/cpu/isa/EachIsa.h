// For *.isa.cpp, which CMake compiles once for each instruction set: KEDGE_ISA is Base, Avx2, Avx512 or
// Sve256, KEDGE_ISA_BYTES the bytes of a vector. Includes nothing, for the reason given in GemmTile.h.
#pragma once

#define KEDGE_JOIN_ISA(name, isa, type) name##isa##type
#define KEDGE_EXPAND_ISA(name, isa, type) KEDGE_JOIN_ISA(name, isa, type)
/// KEDGE_FOR_ISA(gemmTile, F32) is gemmTileAvx512F32 where KEDGE_ISA is Avx512.
#define KEDGE_FOR_ISA(name, type) KEDGE_EXPAND_ISA(name, KEDGE_ISA, type)

namespace kedge::rt::cpu {
constexpr int kIsaBytes = KEDGE_ISA_BYTES;
#if defined(__aarch64__)
constexpr int kIsaRegisters = 32;
#else
constexpr int kIsaRegisters = kIsaBytes == 64 ? 32 : 16;
#endif

/// A tile of a product has up to 3 kTileStep rows of kTileVectors vectors: its sums take three quarters of
/// the registers.
constexpr int kTileVectors = 2;
constexpr int kTileStep = kIsaRegisters / 4 / kTileVectors;
} // namespace kedge::rt::cpu
