// The same bits at every level of optimization and for every processor.
#include "test/unit/lower/EmitterHarness.h"

using namespace kedge;
using namespace kedge::test;

namespace {

const char *const kSource = R"(
  func.func @f(%x: tensor<9x131xf32>, %h: tensor<131x9xbf16>, %seed: tensor<i64>) {
    %y:3 = sched.cluster domain [9, 131] reduced [1] (%x, %h, %seed)
         maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c, r)>, affine_map<(r, c) -> ()>]
           -> [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>] {
      ^bb0(%v: f32, %w: bf16, %s: i64):
        %wide = arith.extf %w : bf16 to f32
        %t = math.tanh %wide : f32
        %in = math.fma %t, %t, %v : f32
        %m = sched.reduce max %in : f32
        %d = arith.subf %in, %m : f32
        %e = math.exp %d : f32
        %sum = sched.reduce add %e : f32
        %p = arith.divf %e, %sum : f32
        %i = sched.index 1
        %row = sched.index 0
        %u = sched.random 3 (%s, %s, %row, %i)
        %q = arith.mulf %p, %u : f32
        %log = math.log %sum : f32
        %sine = math.sin %in : f32
        %short = arith.truncf %sine : f32 to bf16
        sched.yield %q, %log, %short : f32, f32, bf16
    } : (tensor<9x131xf32>, tensor<131x9xbf16>, tensor<i64>) -> (tensor<9x131xf32>, tensor<9xf32>, tensor<9x131xbf16>)
    return
  })";

struct Results {
  std::vector<float> points = std::vector<float>(9 * 131), rows = std::vector<float>(9);
  std::vector<uint16_t> shorts = std::vector<uint16_t>(9 * 131);
  bool operator==(const Results &) const = default;
};

Results run(const lower::KernelTarget &target, int optLevel) {
  Cluster cluster(kSource, target, optLevel);
  auto x = randomFloats(9 * 131, 1);
  std::vector<uint16_t> h(9 * 131);
  for (size_t i = 0; i < h.size(); ++i)
    h[i] = 0x3e00 + i;
  std::vector<int64_t> seed{12345};
  Results results;
  cluster.run(2, x, h, seed, results.points, results.rows, results.shorts);
  return results;
}

TEST(Targets, GiveEqualBits) {
  lower::KernelTarget host = lower::KernelTarget::host();
  const Results expected = run(host, 2);
  for (int level : {0, 1, 3})
    EXPECT_EQ(run(host, level), expected) << "O" << level;
  if (host.cpu == "x86-64-v4" || host.cpu == "x86-64-v3")
    for (const char *cpu : {"x86-64-v3", "x86-64-v2", "x86-64"}) {
      lower::KernelTarget lesser{host.triple, cpu, "", {}};
      EXPECT_EQ(run(lesser, 2), expected) << cpu;
    }
}

} // namespace
