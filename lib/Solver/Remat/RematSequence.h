// An execution sequence that can be changed step by step, with its cost and its excess over a budget at hand.
#pragma once
#include "lib/Solver/Remat/RematModel.h"
#include "lib/Solver/Remat/RematSlots.h"

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
  double excess() {
    settle();
    return static_cast<double>(totalExcess);
  }
  int64_t peak();
  int slots() const { return static_cast<int>(nodeAt.size()); }
  int node(int slot) const { return nodeAt[slot]; }
  int64_t limit() const { return budget; }
  const SlotList &occurrences(int node) const { return occurs[node]; }
  const std::vector<int> &nodesRunTwice() const { return repeated; }

  /// Slots of the instance of a value that a read at `slot` would use; first is -1 where there is none.
  struct Interval {
    int first, last;
  };
  Interval instanceBefore(int value, int slot) const;
  /// The next read of a value after a slot, or -1.
  int nextRead(int value, int slot) const { return values[value].reads.after(slot, -1); }
  int nextMake(int value, int slot) const { return values[value].makes.after(slot, slots()); }
  /// The last read of a value before a slot, or -1.
  int readBefore(int value, int slot) const { return values[value].reads.before(slot); }
  /// Work done so far, in units of about 0.1 us; alike on all machines.
  int64_t work() const { return workDone; }
  int64_t blocks() const { return static_cast<int64_t>(block.size()); }
  /// A slot over the budget, near `from`; -1 when there is none.
  int slotOverBudget(int from);

  /// Changes until commit or rollback. Steps left of `slot` may move; returns the slot taken or -1.
  int insertBefore(int slot, int node);
  void remove(int slot);
  bool valid() const; ///< after the changes since the last commit
  void commit();      ///< may renumber all slots
  void rollback();

  static constexpr int blockSize = 16;

private:
  struct alignas(64) ValueState {
    SlotList makes, reads;
  };
  struct Block {
    int64_t added = 0; ///< to the load of each of its slots
    int64_t top = 0;   ///< most bytes of a slot
  };
  /// Bytes for a row of slots that are not in their loads yet.
  struct Pending {
    int first, last;
    int64_t bytes;
  };
  struct Change {
    enum class Kind : char { put, taken, slid };
    int slot, node; ///< slid: the slots from the one behind `slot` to `node`, each to the one before
    Kind kind;
    int work = 0; ///< slid: what it took
  };

  void clear(int size);
  void append(int slot, int node);
  void sumBytes();
  void put(int slot, int node);
  void take(int slot);
  int slideLeft(int to, int last);
  void slideRight(int to, int last);
  void renameSlot(int slot, int by);
  void refreshBlocks(int first, int last);
  int64_t addedBy(int slot) const;
  void addMake(int value, int slot);
  void removeMake(int value, int slot);
  void addRead(int value, int slot);
  void removeRead(int value, int slot);
  int64_t bytes(int slot) const { return load[slot] + block[slot / blockSize].added; }
  void addBytes(int first, int last, int64_t bytes);
  void settle();
  void addToLoads(int first, int last, int64_t bytes);
  void addBytesInBlock(int index, int first, int last, int64_t bytes);
  void setTop(Block &block, int64_t top);
  int64_t highest(int index) const;
  int64_t savedAt(int slot) const;
  void refreshReuse(int slot);
  bool diesAt(int value, int slot) const;
  bool rulesHold(int node) const;
  int firstRun(int node) const { return occurs[node].empty() ? slots() : occurs[node].front(); }
  void distribute(const std::vector<int> &sequence);
  void respread();
  void mapSlots();
  void noteAllRepeated();
  void noteRepeated(int node);
  int64_t over(int64_t bytes) const { return bytes > budget ? bytes - budget : 0; }

  const RematModel &model;
  int64_t budget;
  std::vector<int> nodeAt;
  std::vector<ValueState> values;
  std::vector<SlotList> occurs; ///< slots of a node
  std::vector<int> repeated, repeatedPlace;
  std::vector<int64_t> load, saved;
  std::vector<Block> block;
  double totalCost = 0;
  int64_t totalExcess = 0;
  int steps = 0;
  long orphans = 0; ///< reads with no instance
  bool crowded = false;
  int64_t workDone = 0;
  std::vector<Change> journal;
  std::vector<Pending> pending;
  std::vector<int> newSlot, nodesBefore; ///< of respread
  std::vector<int64_t> bytesBefore, savedBefore;
};

} // namespace kedge::solver
