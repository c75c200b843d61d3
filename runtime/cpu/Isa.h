// Which of the compiled variants this machine runs.
#pragma once

namespace kedge::rt::cpu {

enum class Isa { Base, Avx2, Avx512 };

inline Isa machineIsa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return Isa::Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return Isa::Avx2;
#endif
  return Isa::Base;
}

} // namespace kedge::rt::cpu
