#include "passes/Rematerialize/LowerPeak.h"
#include <algorithm>

using kedge::solver::RematProblem;

namespace kedge::remat {
namespace {
constexpr int mostMoves = 32, reach = 8;

/// First step of the largest bytes; the number of bytes goes to `peak`.
size_t fullestStep(const RematProblem &problem, const std::vector<int> &sequence, int64_t &peak) {
  std::vector<int64_t> bytes = solver::bytesPerStep(problem, sequence);
  auto fullest = std::max_element(bytes.begin(), bytes.end());
  peak = *fullest;
  return fullest - bytes.begin();
}

/// Tries what runs up to `reach` steps before the fullest one; false when nothing helps.
bool moveOneBehind(const RematProblem &problem, std::vector<int> &sequence) {
  int64_t peak = 0;
  size_t fullest = fullestStep(problem, sequence, peak);
  std::vector<int> best;
  const size_t first = fullest - std::min<size_t>(fullest, reach);
  for (size_t before = fullest; before-- > first;) {
    std::vector<int> candidate = sequence;
    std::rotate(candidate.begin() + before, candidate.begin() + before + 1, candidate.begin() + fullest + 1);
    if (int64_t reached = solver::peakOf(problem, candidate); reached >= 0 && reached < peak) {
      peak = reached;
      best = std::move(candidate);
    }
  }
  if (best.empty())
    return false;
  sequence = std::move(best);
  return true;
}
} // namespace

void lowerPeakByOrder(const RematProblem &problem, std::vector<int> &sequence) {
  for (int move = 0; move < mostMoves && !sequence.empty(); ++move)
    if (!moveOneBehind(problem, sequence))
      return;
}

} // namespace kedge::remat
