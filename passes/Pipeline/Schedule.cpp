#include "passes/Pipeline/Schedule.h"
#include "passes/Pipeline/SlotClock.h"
#include <algorithm>
#include <charconv>

namespace kedge::pipeline {
namespace {

/// One rank's own order.
using Order = std::vector<Slot>;

/// Stage and micro-batch of each of a rank's forwards, in order; its backwards are in the order of stages
/// turned round. Micro-batches go through a rank's stages in groups, as many as there are ranks, so that the
/// first rank has something to do while a group is on its way around.
Order turnsOf(Part part, int64_t rank, const Schedule &schedule, const PipelineWork &work) {
  Order turns;
  const int64_t group = schedule.chunks == 1 ? work.microBatches : work.ranks;
  for (int64_t first = 0; first < work.microBatches; first += group)
    for (int64_t chunk = 0; chunk < schedule.chunks; ++chunk)
      for (int64_t micro = first; micro < std::min(first + group, work.microBatches); ++micro) {
        const int64_t own = part == Part::Forward ? chunk : schedule.chunks - 1 - chunk;
        turns.push_back({part, own * work.ranks + rank, micro});
      }
  return turns;
}

/// Some forwards ahead, then a backward after each, then the backwards that are left.
Order ownOrder(int64_t rank, size_t ahead, const Schedule &schedule, const PipelineWork &work) {
  const Order forward = turnsOf(Part::Forward, rank, schedule, work),
              backward = turnsOf(Part::Backward, rank, schedule, work);
  ahead = std::min(ahead, forward.size());
  Order order(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (size_t turn = 0; turn < backward.size(); ++turn) {
    order.push_back(backward[turn]);
    if (ahead + turn < forward.size())
      order.push_back(forward[ahead + turn]);
  }
  return order;
}

/// Forwards of a rank before its first backward.
size_t aheadOf(int64_t rank, const Schedule &schedule, const PipelineWork &work) {
  const int64_t others = work.ranks - 1 - rank;
  switch (schedule.kind) {
  case Schedule::Kind::GPipe:
    return static_cast<size_t>(work.microBatches);
  case Schedule::Kind::Interleaved:
    return static_cast<size_t>(2 * others + (schedule.chunks - 1) * work.ranks + 1);
  case Schedule::Kind::OneForwardOneBackward:
  case Schedule::Kind::ZeroBubble:
    break;
  }
  return static_cast<size_t>(others + 1);
}

/// Each rank runs its order, as early as it can. None: ranks wait for each other.
std::optional<std::vector<Slot>> timed(const std::vector<Order> &orders, const PipelineWork &work) {
  SlotClock clock(work, std::vector<bool>(static_cast<size_t>(work.ranks), false));
  std::vector<size_t> next(orders.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < orders.size(); ++rank)
      while (next[rank] < orders[rank].size() && clock.beginOf(orders[rank][next[rank]])) {
        clock.run(orders[rank][next[rank]++]);
        moved = true;
      }
  }
  for (size_t rank = 0; rank < orders.size(); ++rank)
    if (next[rank] < orders[rank].size())
      return std::nullopt;
  return clock.takeSlots();
}

/// With the forwards ahead that the schedule has, or more where a last group of micro-batches is too small
/// for the first rank to go on without.
std::vector<Slot> inOwnOrders(const Schedule &schedule, const PipelineWork &work) {
  for (size_t more = 0;; ++more) {
    std::vector<Order> orders;
    for (int64_t rank = 0; rank < work.ranks; ++rank)
      orders.push_back(ownOrder(rank, aheadOf(rank, schedule, work) + more, schedule, work));
    if (auto slots = timed(orders, work)) // all forwards first always end
      return std::move(*slots);
  }
}

struct Change {
  double time, bytes;
  int64_t rank;
};

/// What each slot adds to its rank, and what goes when it ends.
std::vector<Change> changesOf(const std::vector<Slot> &slots, const PipelineWork &work) {
  const std::vector<bool> apart = ranksApart(slots, work.ranks);
  std::vector<Change> changes;
  for (const Slot &slot : slots) {
    const StageWork &stage = work.stages[static_cast<size_t>(slot.stage)];
    const int64_t rank = slot.stage % work.ranks;
    const double made = apart[static_cast<size_t>(rank)] ? stage.madeForWeights : 0,
                 kept = apart[static_cast<size_t>(rank)] ? stage.heldForWeights : 0;
    if (slot.part == Part::Forward) {
      changes.push_back({slot.begin, stage.held, rank});
    } else if (slot.part == Part::Backward) {
      changes.push_back({slot.begin, made, rank});
      changes.push_back({slot.end, kept - stage.held, rank});
    } else {
      changes.push_back({slot.end, -made - kept, rank});
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) {
    return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
  });
  return changes;
}

/// The most bytes that a rank holds at any time.
double fullestOf(const std::vector<Slot> &slots, const PipelineWork &work) {
  std::vector<double> holds = work.states;
  holds.resize(static_cast<size_t>(work.ranks), 0);
  double most = 0;
  for (const Change &change : changesOf(slots, work))
    most = std::max(most, holds[static_cast<size_t>(change.rank)] += change.bytes);
  return most;
}

/// Of all ranks that can begin something the one that can begin first does: a backward, for others wait for
/// it; else a forward, unless `limits` micro-batches are on the rank already; else weights, on ranks that
/// have them `apart`.
class Filling {
public:
  Filling(const PipelineWork &work, std::vector<int64_t> limits, const std::vector<bool> &apart)
      : work(work), limits(std::move(limits)), apart(apart), clock(work, apart),
        done(3, std::vector<int64_t>(static_cast<size_t>(work.ranks), 0)) {}

  std::vector<Slot> run() {
    while (std::optional<Slot> slot = first()) {
      clock.run(*slot);
      ++doneOf(slot->part, slot->stage);
      if (slot->part == Part::Backward && !apart[static_cast<size_t>(slot->stage)])
        ++doneOf(Part::Weights, slot->stage);
    }
    return clock.takeSlots();
  }

private:
  int64_t &doneOf(Part part, int64_t rank) {
    return done[static_cast<size_t>(part)][static_cast<size_t>(rank)];
  }

  std::optional<Slot> first() {
    std::optional<Slot> best;
    for (int64_t rank = 0; rank < work.ranks; ++rank)
      for (Part part : {Part::Backward, Part::Forward, Part::Weights})
        if (std::optional<Slot> slot = nextOf(part, rank); slot && (!best || slot->begin < best->begin))
          best = slot;
    return best;
  }

  std::optional<Slot> nextOf(Part part, int64_t rank) {
    Slot slot{part, rank, doneOf(part, rank)};
    const bool isFull =
        doneOf(Part::Forward, rank) - doneOf(Part::Weights, rank) >= limits[static_cast<size_t>(rank)];
    if (slot.micro == work.microBatches || (part == Part::Forward && isFull))
      return std::nullopt;
    std::optional<double> begin = clock.beginOf(slot);
    if (!begin)
      return std::nullopt;
    slot.begin = *begin;
    return slot;
  }

  const PipelineWork &work;
  std::vector<int64_t> limits;
  std::vector<bool> apart;
  SlotClock clock;
  std::vector<std::vector<int64_t>> done; ///< micro-batches by part and rank
};

/// The earlier an order ends the better, of those that hold no more than 1f1b's fullest rank. The first ranks
/// hold most, and nobody waits for their backwards: they are tried without weights apart, too.
std::vector<Slot> filled(const PipelineWork &work) {
  std::vector<Slot> best = inOwnOrders({Schedule::Kind::OneForwardOneBackward, 1}, work);
  const double most = fullestOf(best, work);
  for (int64_t whole = 0; whole < work.ranks; ++whole)
    for (int64_t more = 0; more < work.ranks; ++more) {
      std::vector<int64_t> limits;
      std::vector<bool> apart;
      for (int64_t rank = 0; rank < work.ranks; ++rank) {
        limits.push_back(std::min(work.ranks, work.ranks - rank + (rank < whole ? 0 : more)));
        apart.push_back(rank >= whole);
      }
      std::vector<Slot> slots = Filling(work, limits, apart).run();
      if (fullestOf(slots, work) <= most && endOf(slots) < endOf(best))
        best = std::move(slots);
    }
  return best;
}

} // namespace

std::optional<Schedule> Schedule::parse(const std::string &name) {
  if (name == "gpipe")
    return Schedule{Kind::GPipe, 1};
  if (name == "1f1b")
    return Schedule{Kind::OneForwardOneBackward, 1};
  if (name == "zero-bubble")
    return Schedule{Kind::ZeroBubble, 1};
  constexpr std::string_view interleaved = "interleaved=";
  int64_t chunks = 0;
  if (!name.starts_with(interleaved))
    return std::nullopt;
  const char *end = name.data() + name.size();
  auto [rest, error] = std::from_chars(name.data() + interleaved.size(), end, chunks);
  if (error != std::errc() || rest != end || chunks < 2)
    return std::nullopt;
  return Schedule{Kind::Interleaved, chunks};
}

std::vector<Slot> slotsOf(const Schedule &schedule, const PipelineWork &work) {
  return schedule.runsWeightsApart() ? filled(work) : inOwnOrders(schedule, work);
}

double endOf(const std::vector<Slot> &slots) {
  double end = 0;
  for (const Slot &slot : slots)
    end = std::max(end, slot.end);
  return end;
}

double bubbleOf(const std::vector<Slot> &slots, int64_t ranks, std::optional<int64_t> rank) {
  double busy = 0;
  for (const Slot &slot : slots)
    if (!rank || slot.stage % ranks == *rank)
      busy += slot.end - slot.begin;
  const double time = endOf(slots) * static_cast<double>(rank ? 1 : ranks);
  return time > 0 ? std::max(0.0, 1 - busy / time) : 0;
}

std::vector<bool> ranksApart(const std::vector<Slot> &slots, int64_t ranks) {
  std::vector<bool> apart(static_cast<size_t>(ranks), false);
  for (const Slot &slot : slots)
    if (slot.part == Part::Weights)
      apart[static_cast<size_t>(slot.stage % ranks)] = true;
  return apart;
}

int64_t inFlightOf(const std::vector<Slot> &slots, int64_t ranks, int64_t rank) {
  const Part last = ranksApart(slots, ranks)[static_cast<size_t>(rank)] ? Part::Weights : Part::Backward;
  int64_t now = 0, most = 0;
  for (const Slot &slot : slots) { // a rank's slots follow each other
    if (slot.stage % ranks != rank)
      continue;
    now += slot.part == Part::Forward ? 1 : slot.part == last ? -1 : 0;
    most = std::max(most, now);
  }
  return most;
}

} // namespace kedge::pipeline
