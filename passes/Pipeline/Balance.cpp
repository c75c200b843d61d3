#include "passes/Pipeline/Balance.h"
#include <algorithm>
#include <limits>

namespace kedge::pipeline {
namespace {

constexpr double kSlack = 1.05; ///< on the longest stage, for cuts that fewer bytes cross
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Ops between two places to cut: what stages are made of.
struct Piece {
  double seconds = 0, crossing = 0; ///< `crossing`: before it
  size_t ops = 0;
};

std::vector<Piece> piecesOf(const Row &row) {
  std::vector<Piece> pieces;
  for (size_t op = 0; op < row.seconds.size(); ++op) {
    if (pieces.empty() || row.mayCut[op])
      pieces.push_back({0, row.crossing[op], 0});
    pieces.back().seconds += row.seconds[op];
    ++pieces.back().ops;
  }
  return pieces;
}

/// Whether so many stages of at most `longest` seconds hold all pieces; each may be empty.
bool fits(const std::vector<Piece> &pieces, int64_t stages, double longest) {
  double own = 0;
  for (const Piece &piece : pieces) {
    if (piece.seconds > longest)
      return false;
    own += piece.seconds;
    if (own > longest) {
      own = piece.seconds;
      if (--stages == 0)
        return false;
    }
  }
  return true;
}

double shortest(const std::vector<Piece> &pieces, int64_t stages) {
  double low = 0, high = 0;
  for (const Piece &piece : pieces)
    high += piece.seconds;
  for (int turn = 0; turn < 60; ++turn) {
    const double middle = (low + high) / 2;
    (fits(pieces, stages, middle) ? high : low) = middle;
  }
  return high;
}

/// Where each stage begins, with the fewest bytes over all cuts.
std::vector<size_t> cutsOf(const std::vector<Piece> &pieces, size_t stages, double longest) {
  const size_t count = pieces.size();
  std::vector<std::vector<double>> bytes(stages + 1, std::vector<double>(count + 1, kNever));
  std::vector<std::vector<size_t>> from(stages + 1, std::vector<size_t>(count + 1, 0));
  bytes[0][0] = 0;
  for (size_t stage = 1; stage <= stages; ++stage)
    for (size_t end = stage; end <= count; ++end) {
      double seconds = 0;
      for (size_t begin = end; begin-- > stage - 1;) {
        seconds += pieces[begin].seconds;
        if (seconds > longest)
          break;
        const double crossing = bytes[stage - 1][begin] + (begin > 0 ? pieces[begin].crossing : 0);
        if (crossing < bytes[stage][end]) {
          bytes[stage][end] = crossing;
          from[stage][end] = begin;
        }
      }
    }
  std::vector<size_t> begins(stages, 0);
  if (bytes[stages][count] == kNever)
    return {};
  for (size_t stage = stages, end = count; stage > 0; --stage)
    end = begins[stage - 1] = from[stage][end];
  return begins;
}

} // namespace

std::vector<int64_t> balanced(const Row &row, int64_t stages) {
  const std::vector<Piece> pieces = piecesOf(row);
  if (static_cast<int64_t>(pieces.size()) < stages)
    return {};
  // Every stage has a piece of its own: where one piece is longer than all others, more room than the longest
  // stage's is needed now and then.
  std::vector<size_t> begins;
  for (double longest = shortest(pieces, stages) * kSlack; begins.empty(); longest *= 2)
    begins = cutsOf(pieces, static_cast<size_t>(stages), longest);
  std::vector<int64_t> stageOf;
  int64_t stage = -1;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    if (stage + 1 < stages && begins[static_cast<size_t>(stage + 1)] == piece)
      ++stage;
    stageOf.insert(stageOf.end(), pieces[piece].ops, stage);
  }
  return stageOf;
}

} // namespace kedge::pipeline
