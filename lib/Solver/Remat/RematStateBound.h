// What any plan must still pay from a given state on, seen at one moment to come.
#pragma once
#include "lib/Solver/Remat/MinCut.h"
#include "lib/Solver/Remat/RematChain.h"

namespace kedge::solver {

/// As ProgramPoint, but it knows what is held now. Values that are missing now and needed later are run at
/// least once, before that moment or after it; those that a first run up to the moment reads are run before
/// it, and once more where they are not held there. What is held now, or made first on the way, costs a run
/// only where it is not held at the moment. Bytes have a price, so that it is a smallest cut.
class RematStateBound {
public:
  RematStateBound(const RematChain &chain, int64_t budget)
      : chain(chain), budget(budget), cut(0), prices(chain.size), itemState(chain.size), isSure(chain.size) {}

  /// Cost to come as the last good price at that moment tells it; of `kept` it is known that it is held
  /// there.
  double quick(const RematState &state, int moment, const RematValueSet &kept = {});
  /// The same with the best price. Stops when it is `enough`.
  double best(const RematState &state, int moment, double enough);
  bool hasPrice(int moment) const { return prices[moment] > 0; }
  int64_t work() const { return cut.work() + built; }

private:
  struct Solution {
    double cost, bytes;
  };
  struct Item {
    int value;
    double bytes;
    int holdArc;
    bool paidOnce; ///< missing now, and run at least once, before or after the moment
  };
  void build(const RematState &state, int moment, const RematValueSet &kept);
  void findSure(const RematState &state, int moment);
  void need(int value);
  void addItem(const RematState &state, int value, double bytes);
  Solution solve(double price);
  double valueOf(const Solution &solution, double price) const {
    return solution.cost + price * (solution.bytes - left);
  }
  double searchPrice(int moment, double enough);
  static int needed(int value) { return 2 + 3 * value; }
  static int again(int value) { return 3 + 3 * value; } ///< run after the moment
  static int once(int value) { return 4 + 3 * value; }

  const RematChain &chain;
  int64_t budget;
  MinCut cut;
  std::vector<double> prices; ///< of a byte, by moment
  double left = 0;            ///< bytes that may be held
  double sure = 0;            ///< cost of what must run before the moment
  std::vector<Item> items;
  std::vector<char> itemState, isSure;
  std::vector<int> open;
  int64_t built = 0;
};

} // namespace kedge::solver
