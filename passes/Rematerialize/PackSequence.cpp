#include "passes/Rematerialize/PackSequence.h"
#include <algorithm>
#include <set>

using kedge::solver::Buffer;
using kedge::solver::RematNode;
using kedge::solver::RematProblem;

namespace kedge::remat {
namespace {

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
      if (places[reuse.output] >= 0 || candidate < 0 || buffers[candidate].upper != now || taken.count(candidate))
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

int64_t packedBytes(const RematProblem &problem, const std::vector<int> &sequence, int64_t good) {
  solver::PackOptions options;
  options.good = good;
  return solver::packArena(buffersOf(problem, sequence), options).height;
}

} // namespace kedge::remat
