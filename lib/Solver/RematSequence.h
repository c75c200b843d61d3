// An execution sequence that can be changed step by step, with its cost and its excess over a budget at hand.
#pragma once
#include "RematModel.h"

namespace kedge::solver {

/// Steps lie in slots with gaps between them, so that an insertion moves few others. Slot 0 is before the
/// first step, the last slot after the last one.
class RematSequence {
public:
  RematSequence(const RematModel &model, const std::vector<int> &sequence, int64_t budget);

  void reset(const std::vector<int> &sequence, int64_t budget);
  std::vector<int> sequence() const;
  double cost() const { return totalCost; }
  /// Sum over blocks of slots of the bytes of the block's worst slot over the budget.
  double excess() const { return static_cast<double>(totalExcess); }
  int64_t peak() const;
  int slots() const { return static_cast<int>(nodeAt.size()); }
  int node(int slot) const { return nodeAt[slot]; }
  int64_t bytes(int slot) const { return load[slot] + blockAdded[slot / blockSize]; }
  int64_t limit() const { return budget; }
  const std::vector<int> &occurrences(int node) const { return occurs[node]; }
  const std::vector<int> &nodesRunTwice() const { return repeated; }

  /// Slots of the instance of a value that a read at `slot` would use; first is -1 where there is none.
  struct Interval {
    int first, last;
  };
  Interval instanceBefore(int value, int slot) const;
  /// The next read of a value after a slot, or -1.
  int nextRead(int value, int slot) const;
  int nextMake(int value, int slot) const;
  /// Work done so far, in units of about 0.1 us; alike on all machines.
  int64_t work() const { return workDone; }
  int64_t blocks() const { return static_cast<int64_t>(blockMost.size()); }
  int excessBlocks() const { return overBlocks; }
  /// A slot over the budget, near `from`; -1 when there is none.
  int slotOverBudget(int from) const;

  /// Changes until commit or rollback. Steps left of `slot` may move; returns the slot taken or -1.
  int insertBefore(int slot, int node);
  void remove(int slot);
  bool valid() const; ///< after the changes since the last commit
  void commit();      ///< may renumber all slots
  void rollback();

  static constexpr int blockSize = 16;

private:
  struct ValueState {
    std::vector<int> makes, reads;
  };
  struct Change {
    enum class Kind : char { put, taken, slid };
    int slot, node; ///< slid: to this slot from the one behind it
    Kind kind;
  };

  void clear(int size);
  void append(int slot, int node);
  void sumBytes();
  void put(int slot, int node);
  void take(int slot);
  void slide(int from, int to);
  void addMake(int value, int slot);
  void removeMake(int value, int slot);
  void addRead(int value, int slot);
  void removeRead(int value, int slot);
  void addBytes(int first, int last, int64_t bytes);
  void addBytesInBlock(int block, int first, int last, int64_t bytes);
  int64_t savedAt(int slot) const;
  void refreshReuse(int slot);
  bool diesAt(int value, int slot) const;
  bool rulesHold(int node) const;
  int firstRun(int node) const { return occurs[node].empty() ? slots() : occurs[node].front(); }
  void spread(const std::vector<int> &sequence);
  void noteRepeated(int node);
  int64_t over(int64_t bytes) const { return bytes > budget ? bytes - budget : 0; }

  const RematModel &model;
  int64_t budget;
  std::vector<int> nodeAt;
  std::vector<ValueState> values;
  std::vector<std::vector<int>> occurs;
  std::vector<int> repeated, repeatedPlace;
  std::vector<int64_t> load, saved, blockAdded, blockMost;
  double totalCost = 0;
  int64_t totalExcess = 0;
  int overBlocks = 0, steps = 0;
  long orphans = 0; ///< reads with no instance
  bool crowded = false;
  int64_t workDone = 0;
  std::vector<Change> journal;
};

} // namespace kedge::solver
