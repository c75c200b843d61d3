// In which order the ranks of a pipeline run the parts of micro-batches, and when; without MLIR.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kedge::pipeline {

/// What a stage does with a micro-batch. `Backward` has the gradients of weights in it, unless a schedule
/// runs them apart, as `Weights`.
enum class Part { Forward, Backward, Weights };

/// One part of one micro-batch on one stage.
struct Slot {
  Part part = Part::Forward;
  int64_t stage = 0, micro = 0;
  double begin = 0, end = 0;
};

/// What a stage's parts take for one micro-batch: any unit of time, positive. And the bytes that a
/// micro-batch holds: from its forward to its backward, and where gradients of weights are apart what the
/// backward makes for them, and what they need of the forward.
struct StageWork {
  double forward = 1, backward = 1, weights = 1;
  double held = 1, madeForWeights = 0, heldForWeights = 0;
};

/// Stage k is on rank k % `ranks`. `states`: bytes that each rank holds all the time; empty: none.
struct PipelineWork {
  int64_t ranks = 1, microBatches = 1;
  std::vector<StageWork> stages;
  std::vector<double> states = {};
};

/// "gpipe", "1f1b", "interleaved=V" or "zero-bubble".
struct Schedule {
  enum class Kind {
    GPipe,
    OneForwardOneBackward,
    Interleaved,
    ZeroBubble
  } kind = Kind::OneForwardOneBackward;
  int64_t chunks = 1; ///< stages of each rank; V of interleaved=V, 2 or more

  /// None for another name.
  static std::optional<Schedule> parse(const std::string &name);
  bool runsWeightsApart() const { return kind == Kind::ZeroBubble; }
};

/// The slots of all ranks by their begin, each after all that it waits for: a forward for that of the stage
/// before, a backward for that of the stage behind, weights for their backward. There are `chunks` stages for
/// each rank.
///
/// zero-bubble (the ideas are those of "Zero Bubble Pipeline Parallelism", schedule H1): a rank that would
/// wait computes gradients of weights. No rank holds more micro-batches than 1f1b's first one does, nor does
/// the fullest rank hold more bytes than 1f1b's fullest; a rank where they cannot wait has them in its
/// backwards. Where nothing is gained it is 1f1b's order.
std::vector<Slot> slotsOf(const Schedule &schedule, const PipelineWork &work);

/// By rank: whether its slots have gradients of weights apart.
std::vector<bool> ranksApart(const std::vector<Slot> &slots, int64_t ranks);
/// When the last slot ends.
double endOf(const std::vector<Slot> &slots);
/// The share of the time up to the last slot's end in which a rank has no slot; of all ranks without one.
double bubbleOf(const std::vector<Slot> &slots, int64_t ranks, std::optional<int64_t> rank = {});
/// The most micro-batches that wait for their backward on a rank at any time, or for their weights; each of
/// its stages counts.
int64_t inFlightOf(const std::vector<Slot> &slots, int64_t ranks, int64_t rank);

} // namespace kedge::pipeline
