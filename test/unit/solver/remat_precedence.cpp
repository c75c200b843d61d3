// Which first runs come before which in any order, and what they hold whatever the order.
#include "lib/Solver/Remat/RematPrecedence.h"
#include "test/unit/solver/RematProblems.h"
#include <gtest/gtest.h>

using namespace kedge::solver;
using namespace kedge::solver::test;
using When = ProgramPoint::When;

// A chain of 0, 1, 2, 3, where 3 reads 0 too; 4 reads 1 and may run at any time behind it.
static RematProblem chainAndBranch() { return graph({{}, {0}, {1}, {0, 2}, {1}}); }

TEST(RematPrecedence, IsWhatEveryOrderKeeps) {
  RematProblem problem = chainAndBranch();
  RematModel model(problem, true);
  RematPrecedence precedence(model);
  EXPECT_EQ(precedence.around(2),
            (std::vector{When::before, When::before, When::unknown, When::after, When::unknown}));
  EXPECT_EQ(precedence.around(4),
            (std::vector{When::before, When::before, When::unknown, When::unknown, When::unknown}));
}

TEST(RematPrecedence, OfAGivenOrderIsTheOrder) {
  RematProblem problem = chainAndBranch();
  RematModel model(problem, false);
  EXPECT_EQ(RematPrecedence(model).around(3),
            (std::vector{When::before, When::before, When::before, When::unknown, When::after}));
}

TEST(RematPrecedence, WhatRunsWhenItLikesHoldsOnlyItsOwn) {
  RematProblem problem = chainAndBranch();
  RematModel model(problem, true);
  std::vector<int64_t> held = RematPrecedence(model).heldAt();
  EXPECT_EQ(held[2], 3) << "its input, its output, and 0 for 3";
  EXPECT_EQ(held[4], 2) << "its input and output: 3 may have run before";
}
