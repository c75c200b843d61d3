// How ranks are numbered along the axes of a mesh, and their groups.
#include "runtime/io/Error.h"
#include "runtime/program/Mesh.h"
#include <gtest/gtest.h>

namespace kedge::test {
namespace {

using Members = std::vector<int64_t>;

TEST(RuntimeMesh, NumbersRanksWithTheOutermostAxisFirst) {
  const rt::Mesh mesh = rt::Mesh::parse("tensor=2,data=3,replica=2,pipeline=1");
  EXPECT_EQ(mesh.text(), "replica=2,data=3,tensor=2");
  EXPECT_EQ(mesh.size(), 12);
  EXPECT_EQ(mesh.sizeOf("replica,data"), 6);
  EXPECT_EQ(mesh.sizeOf("pipeline"), 1);
  EXPECT_EQ(mesh.placeOf(9), "replica 1, data 1, tensor 1");
  EXPECT_EQ(mesh.groupOf("tensor", 9).members, Members({8, 9}));
  EXPECT_EQ(mesh.groupOf("data", 9).members, Members({7, 9, 11}));
  EXPECT_EQ(mesh.groupOf("replica", 9).members, Members({3, 9}));
  EXPECT_EQ(mesh.groupOf("replica,data", 9).members, Members({1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(mesh.groupOf("replica,data", 9).own.rank, 4);
  EXPECT_EQ(mesh.groupOf("pipeline", 9).members, Members({9}));
}

TEST(RuntimeMesh, GroupsOfOneRankHaveNumbersOfTheirOwn) {
  const rt::Mesh mesh = rt::Mesh::parse("replica=2,data=3");
  EXPECT_EQ(mesh.numberOf("replica,data"), 0u);
  EXPECT_NE(mesh.numberOf("replica"), mesh.numberOf("data"));
  EXPECT_EQ(rt::Mesh::ofData(4).numberOf("data"), 0u);
  EXPECT_EQ(rt::Mesh::ofData(4).text(), "data=4");
  EXPECT_EQ(rt::Mesh::parse("").size(), 1);
}

TEST(RuntimeMesh, EveryRankIsInOneGroupOfAnAxis) {
  const rt::Mesh mesh = rt::Mesh::parse("pipeline=2,replica=3,data=2,tensor=2");
  for (const char *axes : {"data", "tensor", "pipeline", "replica", "replica,data", "pipeline,tensor",
                           "pipeline,replica,data,tensor"}) {
    std::vector<int> seen(static_cast<size_t>(mesh.size()));
    for (int64_t rank = 0; rank < mesh.size(); ++rank) {
      const rt::GroupMembers group = mesh.groupOf(axes, rank);
      ASSERT_EQ(group.own.size, mesh.sizeOf(axes));
      ASSERT_EQ(group.members[static_cast<size_t>(group.own.rank)], rank);
      for (int64_t member : group.members) {
        EXPECT_EQ(mesh.groupOf(axes, member).members, group.members);
        seen[static_cast<size_t>(member)] += group.members.front() == rank;
      }
    }
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << axes;
  }
}

TEST(RuntimeMesh, WhatIsNoneIsTold) {
  for (const auto &[text, words] :
       {std::pair{
            "rows=2",
            "'rows' is no axis of a mesh; the axes are pipeline, replica, data, expert, context, tensor"},
        std::pair{"data=2,data=2", "axis 'data' is named twice"}, std::pair{"data", "expected data=N"},
        std::pair{"data=2x", "expected data=N"}, std::pair{"data=-1", "expected data=N"},
        std::pair{"data=2,", "'' is no axis"},
        std::pair{"data=1048576,replica=2", "more than 1048576 ranks"}})
    try {
      rt::Mesh::parse(text);
      ADD_FAILURE() << text;
    } catch (const rt::RuntimeError &error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace kedge::test
