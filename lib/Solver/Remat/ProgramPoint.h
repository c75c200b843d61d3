// What any plan must hold or pay at one moment: the first run of a node.
#pragma once
#include "lib/Solver/Remat/MinCut.h"
#include "lib/Solver/Remat/RematModel.h"
#include <optional>

namespace kedge::solver {

/// Let v run for the first time. What must have run before has run, and what must run later still needs its
/// inputs; whether the rest has run is part of the question. Each value needed is held now, in its bytes, or
/// made later: for nothing where its first run is still to come, else at the cost of a run; its inputs are
/// needed too. What is held, and the bytes of v itself, must fit the budget. That is a relaxation: it forgets
/// all other moments, so its optimum is below that of every plan.
class ProgramPoint {
public:
  enum class When : char { before, after, unknown };
  /// `when` tells for each required node whether its first run must be before or after that of `node`.
  ProgramPoint(const RematModel &model, int node, const std::vector<When> &when);

  enum class Choice : char { open, held, dropped };
  struct Solution {
    double cost = 0;        ///< of the runs that are not free
    double bytes = 0;       ///< of the items held
    std::vector<char> held; ///< of each item
  };
  int items() const { return static_cast<int>(values.size()); }
  int value(int item) const { return values[item]; }
  double itemBytes(int item) const { return weights[item]; }
  int64_t ownBytes() const { return own; }
  /// What a run takes by itself: inputs, outputs and workspace.
  static int64_t bytesOfRun(const RematModel &model, int node);
  int64_t work() const { return cut->work(); } ///< of all solutions so far

  /// What a run costs: as it is, nothing at all, or as it is where it is free and no end of money elsewhere.
  enum class Runs { paid, allFree, freeOnly };
  /// Minimises cost + price x bytes; none where the choices leave no solution.
  std::optional<Solution> solve(Runs runs, double price, const std::vector<Choice> &choices);

private:
  struct Group {
    double cost = 0;
    int later = -1;          ///< free where this node's first run is still to come
    int laterPlace = -1;     ///< in the cut
    std::vector<int> inputs; ///< items
  };
  void findForbidden();
  void weighOwn();
  static std::vector<int64_t> takenInputs(const RematModel &model, int node);
  static int64_t placedBytes(const RematModel &model, int node, RematNode::Reuse reuse);
  static int64_t bytesPlaced(const RematModel &model, int node);
  void need(int value, bool always);
  int groupFor(int value);
  std::vector<int> neededBy(const std::vector<int> &members, int ofClass) const;
  bool comesLater(int value) const;
  bool undecided(int node) const;
  void weighGroup(Group &group, const std::vector<int> &members) const;
  void buildCut();
  void connectLater(int node, const std::vector<int> &placeOf);

  const RematModel &model;
  int node;
  const std::vector<When> &when;
  int64_t own = 0;         ///< bytes that the moment takes whatever is held
  std::vector<int> values; ///< of the items: what may have to be held
  std::vector<int> itemOf; ///< of a value, or -1
  std::vector<double> weights;
  std::vector<char> always; ///< whether an item is read later in every plan
  std::vector<int> groupOf; ///< what makes an item again, -1 where nothing can
  std::vector<Group> groups;
  std::vector<int> groupOfClass;
  std::vector<char> forbidden; ///< nodes that must not run after this moment
  std::vector<double> valueWeight;
  std::optional<MinCut> cut;
  std::vector<int> holdArcs, runArcs, neverArcs;
};

} // namespace kedge::solver
