// Lists of slots against plain sorted vectors, short ones and ones that outgrow their own room.
#include "lib/Solver/Remat/RematModel.h"
#include "lib/Solver/Remat/RematSlots.h"
#include <gtest/gtest.h>
#include <set>

using namespace kedge::solver;

namespace {

void expectSame(const SlotList &list, const std::set<int> &plain, int most) {
  ASSERT_EQ(std::vector<int>(list.begin(), list.end()), std::vector<int>(plain.begin(), plain.end()));
  for (int slot = -1; slot <= most; ++slot) {
    auto above = plain.upper_bound(slot), from = plain.lower_bound(slot);
    ASSERT_EQ(list.after(slot, 1000), above == plain.end() ? 1000 : *above);
    ASSERT_EQ(list.before(slot), from == plain.begin() ? -1 : *std::prev(from));
    ASSERT_EQ(list.countBetween(slot, most), std::distance(above, plain.lower_bound(most)));
  }
}

void changeBoth(SlotList &list, std::set<int> &plain, RematRandom &random, int most) {
  int slot = random.below(most);
  if (!plain.count(slot)) {
    list.insert(slot);
    plain.insert(slot);
  } else if (slot > 0 && !plain.count(slot - 1) && random.chance(0.5)) {
    list.replace(slot, slot - 1);
    plain.erase(slot);
    plain.insert(slot - 1);
  } else {
    list.erase(slot);
    plain.erase(slot);
  }
}

} // namespace

TEST(RematSlots, AgreeWithSortedVectors) {
  for (int most : {3, 8, 14, 40}) { // half of them are in the list, on average
    RematRandom random(most);
    SlotList list;
    std::set<int> plain;
    for (int i = 0; i < 500; ++i) {
      changeBoth(list, plain, random, most);
      expectSame(list, plain, most);
    }
  }
}

TEST(RematSlots, AreFilledMovedMappedAndCleared) {
  std::vector<int> places;
  for (int i = 0; i < 20; ++i)
    places.push_back(3 * i + 1);
  for (int count : {0, 1, 6, 7, 20}) {
    SlotList list;
    std::set<int> plain;
    for (int i = 0; i < count; ++i) {
      list.append(i);
      plain.insert(3 * i + 1);
    }
    list.map(places.data());
    SlotList moved = std::move(list);
    expectSame(moved, plain, 70);
    EXPECT_EQ(moved.empty(), count == 0);
    moved.clear();
    expectSame(moved, {}, 5);
    moved.insert(2);
    expectSame(moved, {2}, 5);
  }
}
