// A search that lets items collide: each goes where it does least harm, and what stands there is evicted.
//
// The height is given. An item that waits takes the place where those that it overlaps weigh least; they wait
// from then on. An item's weight is its area, and grows with every eviction, so that those which are hard to
// place come first and are moved last. A run ends when nothing waits. There is no proof in it, but it finds
// its way where ArenaSearch is lost: hundreds of large items of a few sizes, all of which live together with
// hundreds of others.
#pragma once
#include "lib/Solver/Arena/ArenaFirstFit.h"

namespace kedge::solver {

class ArenaEjection {
public:
  ArenaEjection(const ArenaProblem &problem, uint64_t seed);

  /// Looks for a packing of at most `height` units, no item being larger, from one that is higher. Gives up
  /// after `limit` steps of effort. What a run has learned about weights is remembered in part.
  bool run(int64_t height, const ArenaPlacement &start, int64_t limit, ArenaEffort &effort);
  ArenaPlacement placement() const; ///< the one found by the last run

private:
  /// An item as the others see it, side by side.
  struct Stand {
    int64_t begin, size; ///< begin: its offset, or where it stood before it had to wait
    double weight;
    bool waits;
  };
  /// Sorting moves little: the rest is looked up.
  struct Edge {
    int64_t at;
    int item;
  };

  void reset(int64_t height, const ArenaPlacement &start);
  void wait(int item);
  int takeHeaviest();
  void collectStands(int item);
  void sortStands(int item);
  void pickStands(const std::vector<int> &others);
  void stand(int item, int64_t at);
  void leave(int item);
  int64_t bestPlace(int64_t size);
  void put(int item, int64_t at);

  const ArenaProblem &problem;
  /// Of each item: items that live with it. Where no order of all is kept, in their order by begin and by end
  /// when it was placed the last time.
  std::vector<std::vector<int>> neighbours, neighboursByEnd;
  ArenaRandom random;
  std::vector<double> area;
  std::vector<Stand> stands;
  int64_t height = 0;
  std::vector<int> waiting; ///< a heap by weight
  bool keepsOrder = false;  ///< items live with a fifth of all or more: all stands are kept in order,
                            ///< neighbours are picked from them
  std::vector<Edge> allByBegin, allByEnd; ///< of every item that stands, where order is kept
  std::vector<int64_t> turns;             ///< of each item: the last turn in which it was a neighbour
  int64_t turn = 0;
  // Of the item that is being placed:
  std::vector<Edge> byBegin, byEnd; ///< of those that live with it
  std::vector<double> weightBefore; ///< of the first of them by begin
};

/// Lowers a packing towards `enough` units, step by step, until the effort is spent. What is small against
/// the load is left out and put into the gaps afterwards.
void lowerByEjection(const ArenaProblem &problem, int64_t enough, uint64_t seed, ArenaEffort &effort,
                     ArenaPlacement &best);

/// The same with as much counted effort as the packing deserves: less once it is close to the load, and while
/// it stays more than a hundredth above `enough`, it starts over with fresh weights and another seed, as long
/// as that helps.
void lowerByEjectionTries(const ArenaProblem &problem, int64_t enough, uint64_t seed, ArenaPlacement &best);

} // namespace kedge::solver
