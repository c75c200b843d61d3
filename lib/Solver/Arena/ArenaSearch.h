// A complete search for a packing of a given height.
//
// The state is a skyline: the floor of each section, below which nothing is placed any more. In a packing in
// which no item can sink, each item stands on the floor or on another item, so placing items in order of
// their offsets onto the skyline reaches it. The order among items that do not touch is free, and is fixed
// here by deciding one place of the skyline at a time: a section in a valley (a run of equal floors between
// higher ones) gets one of the items that fit into the valley, or stays empty up to the next height at which
// an item can stand there.
//
// Each decision is propagated: a section's floor rises to the lowest place that any of its remaining items
// can take, and the branch ends where floor plus remaining sizes exceed the height. The free choices (which
// section, which item first) follow rules with a random part, and the search starts over with others when it
// has visited many states. The idea of placing in canonical order with pruning by section is MiniMalloc's
// (ASPLOS 2023).
#pragma once
#include "lib/Solver/Arena/ArenaFirstFit.h"
#include <array>

namespace kedge::solver {

class ArenaSearch {
public:
  enum class Outcome { Found, Infeasible, GaveUp };
  static constexpr int ruleCount = 4, roundsInTurn = 16; ///< each rule with each of four priorities

  ArenaSearch(const ArenaProblem &problem, uint64_t seed);

  /// Looks for a packing of at most `height` units, for at most `nodeLimit` decisions. `round` selects the
  /// rules.
  Outcome run(int64_t height, int round, int64_t nodeLimit, ArenaEffort &effort);
  ArenaPlacement placement() const; ///< the one found by the last run

private:
  enum class Rule { Constrained, Lowest, FewestOptions, Tightest };
  struct Change {
    enum Kind : int { Floor, Base, Options, Placed } kind;
    int index;
    int64_t old;
  };

  void reset();
  void chooseRule(int round);
  void choosePriorities(int round);
  bool solve(int first, int last);
  bool solveSection(int section, int first, int last);
  bool solveAfter(bool possible, size_t mark, int first, int last);
  int chooseSection(int first, int last) const;
  double score(int section) const;
  std::vector<int> candidates(int section) const;
  bool isRepeated(const std::vector<int> &candidates, size_t position) const;
  int64_t nextHeight(int section);

  bool place(int item);
  bool raise(int section, int64_t to);
  bool propagate();
  void lift(int item, int64_t to, int except);
  void undo(size_t mark);
  void setOptions(int section, int value);
  void wake(int section);
  bool exceeds(int section);

  const ArenaProblem &problem;
  std::vector<std::vector<int>> covering;   ///< of each section: its items
  std::vector<std::vector<int>> neighbours; ///< of each item: items that live with it
  ArenaRandom random;

  Rule rule = Rule::Lowest;
  std::array<size_t, ruleCount> successes{};
  std::vector<double> priority;
  std::vector<double> conflicts; ///< of each section: branches that ended there, fading
  int64_t height = 0, nodes = 0, nodeLimit = 0;
  ArenaEffort *effort = nullptr;
  bool gaveUp = false;

  std::vector<int64_t> floor, remaining; ///< of each section
  std::vector<int> options;              ///< of each section: items left whose base is its floor
  std::vector<int> crossing;             ///< of each section: items left that live in the next one too
  std::vector<int64_t> base;             ///< of each item left: highest floor of its sections
  std::vector<int64_t> offset;
  std::vector<char> placed, isAwake;
  std::vector<int> awake; ///< sections that may have no item left at their floor
  std::vector<Change> trail;
  std::vector<int64_t> savedIn; ///< of each section: the last decision that noted its options on the trail
  int64_t decision = 0;
};

} // namespace kedge::solver
