// How tensors are cut over a mesh by dimension, into flat parts, and into flat parts of boxes.
#include "runtime/io/Error.h"
#include "runtime/program/Shard.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace kedge::test {
namespace {

using Sizes = std::vector<int64_t>;

/// Element by element, by the definition: where an index of a dimension lies, and on which place along the
/// axis.
struct Along {
  int64_t place = 0, here = 0;
};

Along along(const rt::Cut &cut, int64_t size, int64_t ranks, int64_t index) {
  int64_t first = 0, here = 0;
  for (const int64_t section : cut.sections.empty() ? Sizes{size} : cut.sections) {
    const int64_t groups = (section + cut.unit - 1) / cut.unit,
                  block = (groups + ranks - 1) / ranks * cut.unit;
    if (index < first + section)
      return {(index - first) / block, here + (index - first) % block};
    first += section;
    here += block;
  }
  throw std::runtime_error("outside");
}

/// Every element is on the ranks that it belongs to, in its place there, and nothing else is.
void expectPartition(const rt::Shard &shard, const rt::Mesh &mesh) {
  const Sizes local = shard.localShape(mesh);
  rt::Shard boxed = shard;
  boxed.flat = false;
  const Sizes room = shard.cuts.empty() ? shard.shape : boxed.localShape(mesh);
  const int64_t elements =
      std::accumulate(shard.shape.begin(), shard.shape.end(), int64_t(1), std::multiplies<>());
  const int64_t own = std::accumulate(local.begin(), local.end(), int64_t(1), std::multiplies<>());
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    std::vector<int64_t> held(static_cast<size_t>(own), -1);
    const rt::StateView view = shard.viewOf(mesh, rank);
    int64_t count = 0, last = -1;
    view.forEachRun([&](const rt::ElementRun &run) {
      EXPECT_GT(run.whole, last);
      last = run.whole + run.count - 1;
      count += run.count;
      for (int64_t i = 0; i < run.count; ++i)
        held.at(static_cast<size_t>(run.here + i)) = run.whole + i;
    });
    EXPECT_EQ(count, view.count());
    std::vector<int64_t> expected(held.size(), -1);
    for (int64_t element = 0; element < elements; ++element) {
      int64_t rest = element, stride = 1, at = 0;
      bool mine = true;
      for (size_t dim = shard.shape.size(); dim-- > 0;) {
        Along place{-1, rest % shard.shape[dim]};
        for (const rt::Cut &cut : shard.cuts)
          if (cut.dim == dim) {
            place = along(cut, shard.shape[dim], mesh.sizeOf(cut.axis), place.here);
            mine &= place.place == mesh.groupOf(cut.axis, rank).own.rank;
          }
        rest /= shard.shape[dim];
        at += place.here * stride;
        stride *= room[dim];
      }
      if (shard.flat) {
        mine &= at / own == mesh.groupOf("data", rank).own.rank;
        at %= own;
      }
      if (mine)
        expected.at(static_cast<size_t>(at)) = element;
    }
    EXPECT_EQ(held, expected) << "rank " << rank << " of " << mesh.text();
  }
}

TEST(RuntimeShards, EveryElementIsInItsPlace) {
  for (const char *text : {"data=2", "data=3", "tensor=2", "tensor=3", "data=2,tensor=2",
                           "replica=2,data=3,tensor=2", "data=2,tensor=5", "pipeline=2,tensor=2"}) {
    const rt::Mesh mesh = rt::Mesh::parse(text);
    for (const bool flat : {false, true}) {
      expectPartition({{4, 6}, {{0, "tensor", {}, 1}}, flat}, mesh);
      expectPartition({{5, 3}, {{1, "tensor", {}, 1}}, flat}, mesh);
      expectPartition({{3, 5, 2}, {{1, "tensor", {}, 1}}, flat}, mesh);
      expectPartition({{3, 12}, {{1, "tensor", {4, 6, 2}, 2}}, flat}, mesh);
      expectPartition({{7}, {{0, "tensor", {}, 3}}, flat}, mesh);
      expectPartition({{3, 4, 5}, {{0, "tensor", {}, 1}, {2, "replica", {}, 1}}, flat}, mesh);
    }
    expectPartition({{6, 5}, {{1, "tensor", {}, 1}, {0, "data", {}, 1}}, false}, mesh);
    expectPartition({{5, 3}, {{1, "data,tensor", {}, 1}}, false}, mesh);
    expectPartition({{4, 5}, {}, true}, mesh);
    expectPartition({{}, {}, true}, mesh);
    expectPartition({{0, 4}, {{1, "tensor", {}, 1}}, true}, mesh);
  }
}

TEST(RuntimeShards, RunsThatTouchAreOne) {
  const rt::Mesh mesh = rt::Mesh::parse("tensor=2");
  const auto runs = [&](const rt::Shard &shard, int64_t rank) {
    return shard.viewOf(mesh, rank).runs().size();
  };
  EXPECT_EQ(runs({{6, 100}, {{0, "tensor", {}, 1}}, false}, 1), 1u);
  EXPECT_EQ(runs({{6, 100}, {{1, "tensor", {}, 1}}, false}, 1), 6u);
  EXPECT_EQ(runs({{6, 100}, {{1, "data", {}, 1}}, false}, 1), 1u);
  EXPECT_EQ(runs({{1, 5}, {{0, "tensor", {}, 1}}, false}, 1), 0u);
}

TEST(RuntimeShards, WhatIsNoCutIsTold) {
  using nlohmann::json;
  const auto cut = [](json cuts, bool flat = false) {
    return json{{"shape", {4, 6}}, {"flat", flat}, {"cuts", std::move(cuts)}};
  };
  const json good = {{"dim", 1}, {"axis", "tensor"}};
  EXPECT_NO_THROW(rt::localShardOf(cut({good})));
  json other = good, unit = good, sections = good;
  other["dim"] = 2;
  unit["unit"] = 0;
  sections["sections"] = {3, 2};
  for (const json &wrong :
       {cut({other}), cut({unit}), cut({sections}), cut({good, good}),
        cut({{{"dim", 0}, {"axis", "data"}}}, true), cut(json::array()), json{{"shape", {-1}}}})
    EXPECT_THROW(rt::localShardOf(wrong), rt::RuntimeError) << wrong;
  const json again = rt::cutsJson(rt::localShardOf(cut({good}, true)));
  EXPECT_EQ(again, (json{{"flat", true}, {"cuts", {good}}}));
}

} // namespace
} // namespace kedge::test
