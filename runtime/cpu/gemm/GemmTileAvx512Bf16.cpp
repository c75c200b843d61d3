// Products of bf16 with vdpbf16ps: two k's a step, 12 x 32 sums in registers.
#include "runtime/cpu/gemm/GemmTile.inc"
#if defined(__AVX512BF16__)
#include "runtime/cpu/gemm/PanelPack.inc"
#endif

namespace kedge::rt::cpu {
namespace {

constexpr GemmSizes kSizes{.bytesA = 768 << 10, .bytesB = 4096 << 10};

} // namespace

#if defined(__AVX512BF16__)
namespace {

struct DotTerm {
  using Panel = uint16_t;
  using Sum = float;
  using V = VectorOf<float, 64>::type;
  static constexpr int kBytes = 64, kDepth = 2;
  static __m512bh left(const uint16_t *a, int i) {
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(_mm_cvtsi128_si32(_mm_loadu_si32(a + 2 * i))));
  }
  static __m512bh right(const uint16_t *b, int vector) {
    return reinterpret_cast<__m512bh>(_mm512_load_si512(b + vector * 32));
  }
  static void add(V &sum, __m512bh x, __m512bh row) { sum = _mm512_dpbf16_ps(sum, x, row); }
};

} // namespace

constinit const GemmTile<uint16_t> kGemmTileAvx512Bf16{.rows = 12,
                                                       .columns = 32,
                                                       .step = 4,
                                                       .run = tile<DotTerm, 4, 2>,
                                                       .depth = 2,
                                                       .mostK = 768,
                                                       .packA = packPairs<2>,
                                                       .packB = packPairs<2>,
                                                       .packFourB = packFourOfPairs<2>,
                                                       .sizes = kSizes};
#else
constinit const GemmTile<uint16_t> kGemmTileAvx512Bf16{
    .rows = 12, .columns = 32, .step = 4, .run = nullptr, .depth = 2, .mostK = 768, .sizes = kSizes};
#endif

} // namespace kedge::rt::cpu
