#include "runtime/program/Shard.h"
#include "kedge/abi/ProgramKeys.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

namespace kedge::rt {
namespace key = abi::key;

namespace {

int64_t productFrom(const std::vector<int64_t> &shape, size_t dim) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(std::min(dim, shape.size())),
                         shape.end(), int64_t(1), std::multiplies<>());
}

/// Visits the runs of a box in order and joins those that touch.
class Walk {
public:
  Walk(const std::vector<std::vector<ElementRun>> &dims, const std::vector<int64_t> &whole,
       const std::vector<int64_t> &room, int64_t begin, int64_t end, int64_t at,
       const std::function<void(const ElementRun &)> &visit)
      : dims(dims), begin(begin), end(end), at(at), visit(visit) {
    for (size_t dim = 0; dim <= dims.size(); ++dim) {
      wholeSteps.push_back(productFrom(whole, dim));
      roomSteps.push_back(productFrom(room, dim));
    }
  }

  /// The elements with these first indices; `inWhole` and `inBox` count such groups.
  void walk(size_t dim, int64_t inWhole, int64_t inBox) {
    const int64_t from = inBox * roomSteps[dim];
    if (from >= end || from + roomSteps[dim] <= begin)
      return;
    if (dim == dims.size())
      return take({inWhole * wholeSteps[dim], from, roomSteps[dim]});
    const int64_t wholeStep = wholeSteps[dim + 1], roomStep = roomSteps[dim + 1];
    for (const ElementRun &run : dims[dim])
      if (dim + 1 == dims.size())
        take({inWhole * wholeSteps[dim] + run.whole * wholeStep, from + run.here * roomStep,
              run.count * roomStep});
      else
        for (int64_t i = 0; i < run.count; ++i)
          walk(dim + 1, inWhole * (wholeSteps[dim] / wholeStep) + run.whole + i,
               inBox * (roomSteps[dim] / roomStep) + run.here + i);
  }

  void finish() {
    if (last.count > 0)
      visit(last);
  }

private:
  void take(ElementRun run) {
    const int64_t before = std::max<int64_t>(0, begin - run.here),
                  behind = std::max<int64_t>(0, run.here + run.count - end);
    run = {run.whole + before, run.here + before - begin + at, run.count - before - behind};
    if (run.count <= 0)
      return;
    if (run.whole == last.whole + last.count && run.here == last.here + last.count) {
      last.count += run.count;
      return;
    }
    finish();
    last = run;
  }

  const std::vector<std::vector<ElementRun>> &dims;
  const int64_t begin, end, at;
  const std::function<void(const ElementRun &)> &visit;
  std::vector<int64_t> wholeSteps, roomSteps; ///< elements of a group with the same first indices
  ElementRun last;
};

std::vector<int64_t> sectionsOf(const Cut &cut, int64_t size) {
  return cut.sections.empty() ? std::vector<int64_t>{size} : cut.sections;
}

int64_t blockOf(const Cut &cut, int64_t section, int64_t ranks) {
  return shardSize(shardSize(section, cut.unit), ranks) * cut.unit;
}

/// A rank's runs along a dimension of this size.
std::vector<ElementRun> runsAlong(const Cut &cut, int64_t size, const World &place) {
  std::vector<ElementRun> runs;
  int64_t whole = 0, here = 0;
  for (const int64_t section : sectionsOf(cut, size)) {
    const int64_t block = blockOf(cut, section, place.size), first = std::min(section, place.rank * block);
    if (const int64_t count = std::min(block, section - first); count > 0)
      runs.push_back({whole + first, here, count});
    whole += section;
    here += block;
  }
  return runs;
}

} // namespace

StateView StateView::range(std::vector<int64_t> whole, int64_t first, int64_t at, int64_t count) {
  StateView view;
  view.room = whole;
  view.whole = std::move(whole);
  view.begin = first;
  view.end = first + count;
  view.at = at;
  view.held = count;
  return view;
}

StateView StateView::box(std::vector<int64_t> whole, std::vector<std::vector<ElementRun>> dims,
                         std::vector<int64_t> room) {
  StateView view;
  view.whole = std::move(whole);
  view.dims = std::move(dims);
  view.room = std::move(room);
  view.end = productFrom(view.room, 0);
  view.countRuns();
  return view;
}

StateView StateView::flatPart(int64_t first, int64_t size) const {
  StateView part = *this;
  part.begin = first;
  part.end = std::min(first + size, productFrom(room, 0));
  part.countRuns();
  return part;
}

void StateView::countRuns() {
  held = 0;
  forEachRun([this](const ElementRun &run) { held += run.count; });
}

void StateView::forEachRun(const std::function<void(const ElementRun &)> &visit) const {
  Walk walk(dims, whole, room, begin, end, at, visit);
  walk.walk(0, 0, 0);
  walk.finish();
}

std::vector<ElementRun> StateView::runs() const {
  std::vector<ElementRun> all;
  forEachRun([&](const ElementRun &run) { all.push_back(run); });
  return all;
}

ElementRun StateView::onlyRun() const {
  ElementRun only;
  forEachRun(
      [&](const ElementRun &run) { only = only.count == 0 ? run : ElementRun{run.whole, run.here, -1}; });
  return only;
}

const char *Shard::flatAxes() const {
  const bool isOfExperts =
      std::any_of(cuts.begin(), cuts.end(), [](const Cut &cut) { return cut.axis == Mesh::kExpert; });
  return isOfExperts ? Mesh::kData : Mesh::kParts;
}

std::string Shard::axes() const {
  std::string all = flat ? flatAxes() : "";
  for (const Cut &cut : cuts)
    all += (all.empty() ? "" : ",") + cut.axis;
  if (!stages.empty())
    all += (all.empty() ? "" : ",") + std::string(Mesh::kPipeline);
  return all;
}

static int64_t stageOf(const Mesh &mesh, int64_t rank) {
  return mesh.groupOf(Mesh::kPipeline, rank).own.rank;
}

bool Shard::isHeldBy(const Mesh &mesh, int64_t rank) const {
  return stages.empty() || std::binary_search(stages.begin(), stages.end(), stageOf(mesh, rank));
}

bool Shard::isGivenBy(const Mesh &mesh, int64_t rank) const {
  return stages.empty() || stages.front() == stageOf(mesh, rank);
}

std::vector<int64_t> Shard::room(const Mesh &mesh) const {
  std::vector<int64_t> room = shape;
  for (const Cut &cut : cuts) {
    room[cut.dim] = 0;
    for (const int64_t section : sectionsOf(cut, shape[cut.dim]))
      room[cut.dim] += blockOf(cut, section, mesh.sizeOf(cut.axis));
  }
  return room;
}

std::vector<int64_t> Shard::localShape(const Mesh &mesh) const {
  const std::vector<int64_t> box = room(mesh);
  return flat ? std::vector<int64_t>{shardSize(productFrom(box, 0), mesh.sizeOf(flatAxes()))} : box;
}

StateView Shard::viewOf(const Mesh &mesh, int64_t rank) const {
  return isHeldBy(mesh, rank) ? heldBy(mesh, rank) : StateView::range(shape, 0, 0, 0);
}

StateView Shard::heldBy(const Mesh &mesh, int64_t rank) const {
  const World place = mesh.groupOf(flatAxes(), rank).own;
  if (cuts.empty() && !flat)
    return StateView::range(shape, 0, 0, productFrom(shape, 0));
  if (cuts.empty()) {
    const ElementRange own = localShardOf(productFrom(shape, 0), place.rank, place.size);
    return StateView::range(shape, own.first, 0, own.count);
  }
  size_t known = 0;
  for (const Cut &cut : cuts)
    known = std::max(known, cut.dim + 1);
  std::vector<std::vector<ElementRun>> dims(known);
  for (size_t dim = 0; dim < known; ++dim)
    dims[dim] = {{0, 0, shape[dim]}};
  for (const Cut &cut : cuts)
    dims[cut.dim] = runsAlong(cut, shape[cut.dim], mesh.groupOf(cut.axis, rank).own);
  const std::vector<int64_t> box = room(mesh);
  const StateView view = StateView::box(shape, std::move(dims), box);
  const int64_t part = shardSize(productFrom(box, 0), place.size);
  return flat ? view.flatPart(place.rank * part, part) : view;
}

namespace {

/// A cut of a dimension that the tensor has, into sections that make it.
void checkCut(const Shard &shard, const Cut &cut) {
  const auto ofDim = std::count_if(shard.cuts.begin(), shard.cuts.end(), [&](const Cut &other) {
    return other.dim == cut.dim || other.axis == cut.axis;
  });
  const bool known = cut.dim < shard.shape.size() && ofDim == 1 && cut.unit >= 1 &&
                     std::all_of(cut.sections.begin(), cut.sections.end(), [](int64_t s) { return s >= 1; });
  if (!known || (!cut.sections.empty() && std::accumulate(cut.sections.begin(), cut.sections.end(),
                                                          int64_t(0)) != shard.shape[cut.dim]))
    fail("a tensor of shape {} is not cut so along dimension {}", shapeText(shard.shape), cut.dim);
  if (shard.flat && Mesh::parse(fmt::format("{}=2", Mesh::kData)).sizeOf(cut.axis) > 1)
    fail("a tensor is cut along '{}', and once more into flat parts over it", cut.axis);
}

template <typename Json> Shard readShard(const Json &json) {
  Shard shard;
  shard.shape = json.at(key::shape).template get<std::vector<int64_t>>();
  if (!checkedBytes({DType::F64, shard.shape}))
    fail("a part of a tensor of shape {}: no such tensor", shapeText(shard.shape));
  shard.flat = json.value(key::flat, true);
  for (const Json &entry : json.value(key::cuts, Json::array()))
    shard.cuts.push_back(
        {entry.at(key::dim).template get<size_t>(), entry.at(key::axis).template get<std::string>(),
         entry.value(key::sections, std::vector<int64_t>()), entry.value(key::unit, int64_t(1))});
  shard.stages = json.value(key::stages, std::vector<int64_t>());
  if (std::adjacent_find(shard.stages.begin(), shard.stages.end(), std::greater_equal<>()) !=
          shard.stages.end() ||
      (!shard.stages.empty() && shard.stages.front() < 0))
    fail("a tensor is held by the stages {}: expected numbers from 0 that rise", shapeText(shard.stages));
  if (shard.cuts.empty() && !shard.flat && shard.stages.empty())
    fail("a part of a tensor that nothing cuts");
  for (const Cut &cut : shard.cuts)
    checkCut(shard, cut);
  return shard;
}

} // namespace

Shard localShardOf(const nlohmann::ordered_json &json) { return readShard(json); }
Shard localShardOf(const nlohmann::json &json) { return readShard(json); }

nlohmann::ordered_json cutsJson(const Shard &shard) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!shard.stages.empty())
    json[key::stages] = shard.stages;
  if (shard.cuts.empty() && shard.stages.empty())
    return json;
  json[key::flat] = shard.flat;
  for (const Cut &cut : shard.cuts) {
    nlohmann::ordered_json entry{{key::dim, cut.dim}, {key::axis, cut.axis}};
    if (!cut.sections.empty())
      entry[key::sections] = cut.sections;
    if (cut.unit != 1)
      entry[key::unit] = cut.unit;
    json[key::cuts].push_back(entry);
  }
  return json;
}

void scatter(const StateView &view, const char *part, char *whole, size_t size) {
  view.forEachRun([&](const ElementRun &run) {
    std::memcpy(whole + static_cast<size_t>(run.whole) * size, part + static_cast<size_t>(run.here) * size,
                static_cast<size_t>(run.count) * size);
  });
}

void pack(const StateView &view, const char *part, char *packed, size_t size) {
  view.forEachRun([&](const ElementRun &run) {
    std::memcpy(packed, part + static_cast<size_t>(run.here) * size, static_cast<size_t>(run.count) * size);
    packed += static_cast<size_t>(run.count) * size;
  });
}

} // namespace kedge::rt
