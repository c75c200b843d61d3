// MinGW's fma rounds twice. Programs for Windows are for processors that have the instruction
// (cpu/isa/Level.cpp).
#define KEDGE_HAS_FMA __attribute__((target("fma")))

extern "C" {

KEDGE_HAS_FMA float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

KEDGE_HAS_FMA double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

} // extern "C"
