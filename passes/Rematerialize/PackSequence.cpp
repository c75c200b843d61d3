#include "passes/Rematerialize/PackSequence.h"
#include "lib/Solver/Arena/PackingMemo.h"
#include <algorithm>
#include <set>

using kedge::solver::Buffer;
using kedge::solver::RematNode;
using kedge::solver::RematProblem;

namespace kedge::remat {
namespace {
/// Fewer for long sequences, whose packing takes longer.
constexpr size_t fewestTries = 8, mostTries = 32, stepsTimesTries = 8000;

class Simulation {
public:
  Simulation(const RematProblem &problem, const std::vector<int> &sequence)
      : problem(problem), sequence(sequence), end(static_cast<int64_t>(sequence.size()) + 1) {}

  std::vector<Buffer> run() {
    findLastReads();
    bufferOf.assign(problem.values.size(), -1);
    for (size_t value = 0; value < problem.values.size(); ++value)
      if (problem.values[value].given)
        bufferOf[value] = open(0, problem.values[value].bytes, lastGiven[value]);
    for (size_t at = 0; at < sequence.size(); ++at)
      step(at);
    for (Buffer &buffer : buffers)
      ++buffer.upper;
    return std::move(buffers);
  }

private:
  /// Backwards: the last reader of what each step writes.
  void findLastReads() {
    std::vector<int64_t> next(problem.values.size(), -1);
    for (size_t value = 0; value < next.size(); ++value)
      if (problem.values[value].keptToEnd)
        next[value] = end;
    lastRead.resize(sequence.size());
    for (size_t at = sequence.size(); at-- > 0;) {
      const RematNode &node = problem.nodes[sequence[at]];
      for (int output : node.outputs) {
        lastRead[at].push_back(std::max<int64_t>(next[output], stepOf(at)));
        next[output] = -1;
      }
      for (int input : node.inputs)
        next[input] = std::max<int64_t>(next[input], stepOf(at));
    }
    lastGiven = std::move(next);
  }

  static int64_t stepOf(size_t at) { return static_cast<int64_t>(at) + 1; }

  /// `upper` is the last step itself until all is known.
  int open(int64_t first, int64_t bytes, int64_t last) {
    buffers.push_back({first, std::max(first, last), bytes});
    return static_cast<int>(buffers.size()) - 1;
  }

  void step(size_t at) {
    const RematNode &node = problem.nodes[sequence[at]];
    int64_t now = stepOf(at);
    std::set<int> taken;
    std::vector<int> places(node.outputs.size(), -1);
    for (const RematNode::Reuse &reuse : node.reuses) {
      int candidate = bufferOf[node.inputs[reuse.input]];
      if (places[reuse.output] >= 0 || candidate < 0 || buffers[candidate].upper != now ||
          taken.count(candidate))
        continue;
      taken.insert(candidate);
      buffers[candidate].upper = std::max(now, lastRead[at][reuse.output]);
      places[reuse.output] = candidate;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k)
      bufferOf[node.outputs[k]] =
          places[k] >= 0 ? places[k] : open(now, problem.values[node.outputs[k]].bytes, lastRead[at][k]);
    if (node.workspace > 0)
      open(now, node.workspace, now);
  }

  const RematProblem &problem;
  const std::vector<int> &sequence;
  int64_t end;
  std::vector<std::vector<int64_t>> lastRead; ///< by step and output
  std::vector<int64_t> lastGiven;
  std::vector<int> bufferOf;
  std::vector<Buffer> buffers;
};

} // namespace

std::vector<Buffer> buffersOf(const RematProblem &problem, const std::vector<int> &sequence) {
  return Simulation(problem, sequence).run();
}

int64_t quickBytes(const RematProblem &problem, const std::vector<int> &sequence, int64_t times) {
  return solver::PackingMemo::ofProcess().packQuickly(buffersOf(problem, sequence), 64, times).height;
}

int64_t packedBytes(const RematProblem &problem, const std::vector<int> &sequence, int64_t good) {
  return solver::PackingMemo::ofProcess().packWithin(buffersOf(problem, sequence), good).height;
}

std::optional<PackedSequence> orderWithin(const RematProblem &problem, const std::vector<int> &sequence,
                                          int64_t left) {
  std::vector<int> best = sequence;
  int64_t height = quickBytes(problem, best);
  const size_t most =
      std::clamp(stepsTimesTries / std::max<size_t>(sequence.size(), 1), fewestTries, mostTries);
  for (size_t seed = 1; seed <= most; ++seed) {
    std::vector<int> other = solver::rematOtherOrder(problem, best, seed);
    const int64_t reached = quickBytes(problem, other);
    if (reached > height)
      continue;
    best = std::move(other);
    height = reached;
    if (height <= left)
      return PackedSequence{std::move(best), height};
  }
  return std::nullopt;
}

} // namespace kedge::remat
