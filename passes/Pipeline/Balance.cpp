#include "passes/Pipeline/Balance.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::pipeline {
namespace {

constexpr double kSlack = 1.05; ///< on the longest stage, for cuts that fewer bytes cross
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Ops between two places to cut: what stages are made of.
struct Piece {
  double seconds = 0, crossing = 0; ///< `crossing`: before it
  double states = 0, held = 0, again = 0;
  size_t ops = 0;
};

std::vector<Piece> piecesOf(const Row &row) {
  std::vector<Piece> pieces;
  for (size_t op = 0; op < row.seconds.size(); ++op) {
    if (pieces.empty() || row.mayCut[op])
      pieces.push_back({0, row.crossing[op]});
    pieces.back().seconds += row.seconds[op];
    pieces.back().states += row.states.empty() ? 0 : row.states[op];
    pieces.back().held += row.held.empty() ? 0 : row.held[op];
    pieces.back().again += row.again.empty() ? 0 : row.again[op];
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

/// Pieces [begin, end) as one stage, end first.
struct Stage {
  double seconds = 0, states = 0, held = 0, again = 0;

  void add(const Piece &piece) {
    seconds += piece.seconds;
    states += piece.states;
    held += piece.held;
    again += piece.again;
  }
  bool isWithin(const Room &room, size_t stage, double entering) const {
    return states + held + waiting(room, stage) * entering <= room.bytes;
  }
  /// With what is computed again of each micro-batch: a share of its forward part, as the room lacks a share
  /// of the bytes that all micro-batches on their way would keep.
  double secondsWithin(const Room &room, size_t stage, double entering) const {
    const double inFlight = waiting(room, stage), lacks = states + inFlight * (entering + held) - room.bytes;
    return lacks <= 0 || inFlight * held <= 0 ? seconds
                                              : seconds + again * std::min(1.0, lacks / (inFlight * held));
  }

private:
  static double waiting(const Room &room, size_t stage) {
    return stage < room.inFlight.size() ? static_cast<double>(room.inFlight[stage]) : 0;
  }
};

/// Where each stage begins, with the fewest bytes over all cuts.
std::vector<size_t> cutsOf(const std::vector<Piece> &pieces, size_t stages, double longest,
                           const Room &room) {
  const size_t count = pieces.size();
  std::vector<std::vector<double>> bytes(stages + 1, std::vector<double>(count + 1, kNever));
  std::vector<std::vector<size_t>> from(stages + 1, std::vector<size_t>(count + 1, 0));
  bytes[0][0] = 0;
  for (size_t stage = 1; stage <= stages; ++stage)
    for (size_t end = stage; end <= count; ++end) {
      Stage own;
      for (size_t begin = end; begin-- > stage - 1;) {
        own.add(pieces[begin]);
        if (own.seconds > longest)
          break;
        const double entering = begin > 0 ? pieces[begin].crossing : 0,
                     crossing = bytes[stage - 1][begin] + entering;
        if (crossing < bytes[stage][end] && own.isWithin(room, stage - 1, entering) &&
            own.secondsWithin(room, stage - 1, entering) <= longest) {
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

/// As short as the room allows, up to a twentieth; else as if there were room for all.
std::vector<size_t> beginsOf(const std::vector<Piece> &pieces, size_t stages, const Room &room) {
  double all = 0;
  for (const Piece &piece : pieces)
    all += piece.seconds + piece.again;
  const double least = shortest(pieces, static_cast<int64_t>(stages)) * kSlack;
  double longest = least;
  while (std::isfinite(room.bytes) && longest <= all * kSlack) {
    if (std::vector<size_t> begins = cutsOf(pieces, stages, longest, room); !begins.empty())
      return begins;
    longest *= kSlack;
  }
  // Every stage has a piece of its own: where one piece is longer than all others, more room than the longest
  // stage's is needed now and then.
  std::vector<size_t> begins;
  for (double longest = least; begins.empty(); longest *= 2)
    begins = cutsOf(pieces, stages, longest, {});
  return begins;
}

} // namespace

std::vector<int64_t> balanced(const Row &row, int64_t stages, const Room &room) {
  const std::vector<Piece> pieces = piecesOf(row);
  if (static_cast<int64_t>(pieces.size()) < stages)
    return {};
  const std::vector<size_t> begins = beginsOf(pieces, static_cast<size_t>(stages), room);
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
