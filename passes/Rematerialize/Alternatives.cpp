#include "passes/Rematerialize/Alternatives.h"
#include <algorithm>

using namespace mlir;

namespace kedge::remat {
namespace {
using Sequence = std::vector<int>;

bool contains(const std::vector<int> &values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// Runs of a sequence: who makes a value, and which of them are repeated.
class Editor {
public:
  Editor(const RecomputeGraph &graph, const Sequence &sequence, int value)
      : graph(graph), problem(graph.problem), sequence(sequence), value(value) {}

  Alternative keep() {
    Sequence kept;
    std::vector<bool> ran(problem.nodes.size());
    for (int node : sequence) {
      const bool again = ran[node] || !problem.nodes[node].required;
      ran[node] = true;
      if (!again || !contains(problem.nodes[node].outputs, value))
        kept.push_back(node);
      else
        for (int other : othersOf(node))
          kept.push_back(other);
    }
    return checked(withoutUnread(std::move(kept)), "other results of its launch are made again with it");
  }

  Alternative offload() {
    const int copy = nodeThat([&](const RecomputeGraph::Node &node) { return node.fetched == value; });
    if (copy < 0)
      return {{},
              "the backward part does not read it, so there is no time in between to spend in host memory"};
    return insertedBeforeLateReader({copy});
  }

  Alternative recompute() {
    if (problem.values[value].given)
      return {{}, "no launch makes it: it is an input"};
    Alternative best{{}, "the launch that makes it may run only once"};
    int64_t least = 0;
    // Inputs that are gone by then stay, or are made again as well, as far back as pays.
    for (int depth = 0; depth <= deepest; ++depth) {
      Sequence runs;
      if (!chain(value, depth, runs))
        continue;
      Alternative candidate = insertedBeforeLateReader(runs);
      const int64_t peak = candidate.sequence.empty() ? -1 : solver::peakOf(problem, candidate.sequence);
      if (peak < 0 && best.sequence.empty())
        best.obstacle = candidate.obstacle;
      if (peak < 0 || (!best.sequence.empty() && peak >= least))
        continue;
      best = std::move(candidate);
      least = peak;
    }
    return best;
  }

private:
  static constexpr int deepest = 6;

  template <typename Fits> int nodeThat(Fits fits) const {
    auto found = llvm::find_if(graph.nodes, fits);
    return found == graph.nodes.end() ? -1 : static_cast<int>(found - graph.nodes.begin());
  }

  /// The node that makes `wanted` again: by itself where it can.
  int producerOf(int wanted) const {
    int whole = -1;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].fetched >= 0 || !contains(problem.nodes[i].outputs, wanted))
        continue;
      if (graph.nodes[i].result >= 0)
        return static_cast<int>(i);
      whole = static_cast<int>(i);
    }
    return whole;
  }

  /// The launch's other results alone, where it ran again for them too.
  std::vector<int> othersOf(int node) const {
    std::vector<int> others;
    if (graph.nodes[node].isLaunch())
      for (int output : problem.nodes[node].outputs)
        if (int producer = producerOf(output);
            output != value && !graph.isHostCopy[output] && producer != node && producer >= 0)
          others.push_back(producer);
    return others;
  }

  /// Appends what makes `wanted` again, its inputs before it as far as `depth` allows and they are not there.
  bool chain(int wanted, int depth, Sequence &runs) const {
    const int node = producerOf(wanted);
    if (node < 0 || !problem.nodes[node].repeatable)
      return false;
    if (contains(runs, node))
      return true;
    if (depth > 0)
      for (int input : problem.nodes[node].inputs)
        if (!problem.values[input].given && !problem.values[input].keptToEnd &&
            problem.values[input].bytes > 0 && !isThereLate(input)) {
          Sequence deeper = runs;
          if (chain(input, depth - 1, deeper))
            runs = std::move(deeper);
        }
    runs.push_back(node);
    return true;
  }

  /// Position of the first reader behind all that the loss needs: of the first runs of its launches.
  std::optional<size_t> lateReader() const {
    size_t early = 0;
    std::vector<bool> ran(problem.nodes.size());
    for (size_t at = 0; at < sequence.size(); ++at) {
      const int run = sequence[at];
      const solver::RematNode &node = problem.nodes[run];
      if (graph.forward[run] && !ran[run] && node.required &&
          (contains(node.inputs, value) || contains(node.outputs, value)))
        early = std::max(early, at);
      ran[run] = true;
    }
    for (size_t at = early + 1; at < sequence.size(); ++at)
      if (contains(problem.nodes[sequence[at]].inputs, value))
        return at;
    return std::nullopt;
  }

  /// Whether a value is in memory at the late reader anyway: something reads it there or later, before it is
  /// made again.
  bool isThereLate(int wanted) const {
    const std::optional<size_t> reader = lateReader();
    if (!reader)
      return false;
    for (size_t at = *reader; at < sequence.size(); ++at) {
      if (contains(problem.nodes[sequence[at]].inputs, wanted))
        return true;
      if (contains(problem.nodes[sequence[at]].outputs, wanted))
        return false;
    }
    return false;
  }

  Alternative insertedBeforeLateReader(const Sequence &runs) const {
    const std::optional<size_t> reader = lateReader();
    if (!reader)
      return {{}, "nothing reads it after the loss: no memory would be free in between"};
    Sequence changed(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(*reader));
    changed.insert(changed.end(), runs.begin(), runs.end());
    changed.insert(changed.end(), sequence.begin() + static_cast<std::ptrdiff_t>(*reader), sequence.end());
    return checked(std::move(changed), "what it is made of is overwritten before it would be read");
  }

  /// Without repeated runs whose results nothing reads.
  Sequence withoutUnread(Sequence runs) const {
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<bool> read(problem.values.size());
      std::vector<int> left(problem.nodes.size());
      for (int node : runs)
        ++left[node];
      for (size_t value = 0; value < read.size(); ++value)
        read[value] = problem.values[value].keptToEnd;
      Sequence kept;
      for (size_t at = runs.size(); at-- > 0;) {
        const solver::RematNode &node = problem.nodes[runs[at]];
        const bool again = !node.required || left[runs[at]] > 1;
        const bool used = llvm::any_of(node.outputs, [&](int output) { return read[output]; });
        if (again && !used) {
          --left[runs[at]];
          changed = true;
          continue;
        }
        for (int output : node.outputs)
          read[output] = false;
        for (int input : node.inputs)
          read[input] = true;
        kept.push_back(runs[at]);
      }
      std::reverse(kept.begin(), kept.end());
      runs = std::move(kept);
    }
    return runs;
  }

  Alternative checked(Sequence changed, const char *obstacle) const {
    if (solver::peakOf(problem, changed) < 0)
      return {{}, obstacle};
    return {std::move(changed), ""};
  }

  const RecomputeGraph &graph;
  const solver::RematProblem &problem;
  const Sequence &sequence;
  int value;
};

} // namespace

std::optional<Decision> decisionIn(const RecomputeGraph &graph, const std::vector<int> &sequence, int value) {
  int made = 0;
  for (int node : sequence)
    if (contains(graph.problem.nodes[node].outputs, value)) {
      if (graph.nodes[node].fetched >= 0)
        return Decision::Offload;
      ++made;
    }
  if (made == 0)
    return std::nullopt;
  return made > 1 ? Decision::Recompute : Decision::Keep;
}

Alternative withDecision(const RecomputeGraph &graph, const std::vector<int> &sequence, int value,
                         Decision decision) {
  if (decisionIn(graph, sequence, value) == decision)
    return {sequence, ""};
  const Alternative kept = Editor(graph, sequence, value).keep();
  if (decision == Decision::Keep || kept.sequence.empty())
    return kept;
  Editor editor(graph, kept.sequence, value);
  return decision == Decision::Recompute ? editor.recompute() : editor.offload();
}

double secondsOf(const RecomputeGraph &graph, const std::vector<int> &sequence) {
  double seconds = 0;
  for (int node : sequence)
    seconds += graph.problem.nodes[node].cost;
  return seconds;
}

} // namespace kedge::remat
