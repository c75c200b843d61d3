// What a processor computes at most.
#pragma once

namespace kedge::bench {

/// FLOP/s in fp32 of so many threads at once: multiply-adds on registers alone, two operations each. The best
/// of several runs, about 0.2 s in all.
double multiplyAddRate(int threads);

} // namespace kedge::bench
