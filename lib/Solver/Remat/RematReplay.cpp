// The reference evaluation of a sequence: slow, and the meaning of the model.
#include "lib/Solver/Remat/Rematerialization.h"
#include <algorithm>

namespace kedge::solver {
namespace {

class Replay {
public:
  Replay(const RematProblem &problem, const std::vector<int> &sequence)
      : problem(problem), sequence(sequence), current(problem.values.size(), -1) {}

  bool valid() { return rulesHold() && findInstances(); }

  std::vector<int64_t> bytes() const {
    size_t steps = sequence.size();
    std::vector<int64_t> change(steps + 1);
    for (const Instance &instance : instances)
      if (instance.lastRead >= instance.first) {
        change[instance.first] += problem.values[instance.value].bytes;
        change[instance.lastRead + 1] -= problem.values[instance.value].bytes;
      }
    std::vector<int64_t> result(steps);
    int64_t held = 0;
    for (size_t step = 0; step < steps; ++step) {
      held += change[step];
      result[step] = held + problem.nodes[sequence[step]].workspace - reused(static_cast<int>(step));
    }
    return result;
  }

private:
  struct Instance {
    int value, first, lastRead;
  };

  bool rulesHold() const {
    int count = static_cast<int>(problem.nodes.size());
    std::vector<int> times(count), first(count, -1), last(count, -1);
    for (size_t step = 0; step < sequence.size(); ++step) {
      int node = sequence[step];
      if (node < 0 || node >= count)
        return false;
      if (times[node]++ == 0)
        first[node] = static_cast<int>(step);
      last[node] = static_cast<int>(step);
    }
    std::vector<int> producer(problem.values.size(), -1);
    for (int node = 0; node < count; ++node)
      if (problem.nodes[node].required)
        for (int value : problem.nodes[node].outputs)
          producer[value] = node;
    for (int node = 0; node < count; ++node) {
      const RematNode &n = problem.nodes[node];
      if ((n.required && times[node] == 0) || (!n.repeatable && times[node] > 1))
        return false;
      if (times[node] == 0)
        continue;
      for (int other : n.overwrites)
        if (last[other] > first[node])
          return false;
      for (int value : n.outputs)
        if (producer[value] >= 0 && first[producer[value]] > first[node])
          return false;
    }
    return true;
  }

  bool findInstances() {
    int steps = static_cast<int>(sequence.size());
    for (int value = 0; value < static_cast<int>(current.size()); ++value)
      if (problem.values[value].given)
        begin(value, 0, -1);
    for (int step = 0; step < steps; ++step) {
      const RematNode &n = problem.nodes[sequence[step]];
      for (int value : n.inputs) {
        if (current[value] < 0)
          return false;
        reads.push_back(current[value]);
        instances[current[value]].lastRead = step;
      }
      firstRead.push_back(static_cast<int>(reads.size() - n.inputs.size()));
      for (int value : n.outputs)
        begin(value, step, step);
    }
    for (int value = 0; value < static_cast<int>(current.size()); ++value)
      if (problem.values[value].keptToEnd) {
        if (current[value] < 0)
          return false;
        instances[current[value]].lastRead = steps - 1;
        kept.push_back(current[value]);
      }
    return true;
  }

  void begin(int value, int step, int lastRead) {
    current[value] = static_cast<int>(instances.size());
    instances.push_back({value, step, lastRead});
  }

  /// Bytes of outputs that take the place of an input that dies here; each input once, in the order of the
  /// list.
  int64_t reused(int step) const {
    const RematNode &n = problem.nodes[sequence[step]];
    int64_t result = 0;
    std::vector<int> takenInputs, placedOutputs;
    auto has = [](const std::vector<int> &list, int item) {
      return std::find(list.begin(), list.end(), item) != list.end();
    };
    for (RematNode::Reuse reuse : n.reuses) {
      int instance = reads[firstRead[step] + reuse.input];
      bool dies = instances[instance].lastRead == step && !has(kept, instance);
      int64_t bytes = problem.values[n.outputs[reuse.output]].bytes;
      if (!dies || bytes > problem.values[n.inputs[reuse.input]].bytes || has(takenInputs, reuse.input) ||
          has(placedOutputs, reuse.output))
        continue;
      takenInputs.push_back(reuse.input);
      placedOutputs.push_back(reuse.output);
      result += bytes;
    }
    return result;
  }

  const RematProblem &problem;
  const std::vector<int> &sequence;
  std::vector<int> current; ///< instance of each value that a read would use
  std::vector<Instance> instances;
  std::vector<int> reads, firstRead; ///< instances that each step reads
  std::vector<int> kept;
};

} // namespace

int64_t peakOf(const RematProblem &problem, const std::vector<int> &sequence) {
  Replay replay(problem, sequence);
  if (!replay.valid())
    return -1;
  int64_t peak = 0;
  for (int64_t bytes : replay.bytes())
    peak = std::max(peak, bytes);
  return peak;
}

std::vector<int64_t> bytesPerStep(const RematProblem &problem, const std::vector<int> &sequence) {
  Replay replay(problem, sequence);
  return replay.valid() ? replay.bytes() : std::vector<int64_t>();
}

} // namespace kedge::solver
