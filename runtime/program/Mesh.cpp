#include "runtime/program/Mesh.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>

namespace kedge::rt {
namespace {

/// In the order that numbers ranks.
constexpr const char *kAxes[] = {Mesh::kPipeline, Mesh::kReplica, Mesh::kData,
                                 Mesh::kExpert,   Mesh::kContext, Mesh::kTensor};
/// More would not fit the numbers of ranks of a launcher.
constexpr int64_t kMostRanks = 1 << 20;

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

MeshAxis axisOf(const std::string &word) {
  const size_t equals = word.find('=');
  MeshAxis axis{word.substr(0, equals), 0};
  if (!Mesh::knows(axis.name))
    fail("'{}' is no axis of a mesh; the axes are {}", axis.name, fmt::join(kAxes, ", "));
  const std::string number = equals == std::string::npos ? "" : word.substr(equals + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), axis.size);
  if (error != std::errc() || end != number.data() + number.size() || axis.size < 1 || axis.size > kMostRanks)
    fail("'{}': expected {}=N with a number of ranks from 1 to {}", word, axis.name, kMostRanks);
  return axis;
}

} // namespace

bool Mesh::knows(const std::string &axis) {
  return std::find(std::begin(kAxes), std::end(kAxes), axis) != std::end(kAxes);
}

Mesh Mesh::ofData(int64_t ranks) {
  Mesh mesh;
  if (ranks > 1)
    mesh.all.push_back({kData, ranks});
  return mesh;
}

Mesh Mesh::parse(const std::string &text) {
  std::vector<MeshAxis> given;
  if (!text.empty())
    for (const std::string &word : split(text))
      given.push_back(axisOf(word));
  return of(given);
}

Mesh Mesh::of(const std::vector<MeshAxis> &given) {
  for (const MeshAxis &one : given)
    if (std::count_if(given.begin(), given.end(),
                      [&](const MeshAxis &axis) { return axis.name == one.name; }) > 1)
      fail("axis '{}' is named twice; name each axis once", one.name);
  Mesh mesh;
  for (const char *name : kAxes)
    for (const MeshAxis &axis : given)
      if (axis.name == name && axis.size > 1)
        mesh.all.push_back(axis);
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh.all)
    if ((ranks *= axis.size) > kMostRanks)
      fail("more than {} ranks in all", kMostRanks);
  return mesh;
}

int64_t Mesh::size() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : all)
    ranks *= axis.size;
  return ranks;
}

int64_t Mesh::sizeOf(const std::string &axes) const {
  int64_t ranks = 1;
  for (const std::string &name : split(axes))
    for (const MeshAxis &axis : all)
      ranks *= axis.name == name ? axis.size : 1;
  return ranks;
}

/// What the place along each axis counts in a rank's number.
std::vector<int64_t> Mesh::strides() const {
  std::vector<int64_t> strides(all.size(), 1);
  for (size_t axis = all.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * all[axis].size;
  return strides;
}

GroupMembers Mesh::groupOf(const std::string &axes, int64_t rank) const {
  const std::vector<std::string> names = split(axes);
  const std::vector<int64_t> steps = strides();
  const auto isFree = [&](size_t axis) {
    return std::find(names.begin(), names.end(), all[axis].name) != names.end();
  };
  GroupMembers group;
  for (int64_t other = 0; other < size(); ++other) {
    bool together = true;
    for (size_t axis = 0; axis < all.size(); ++axis)
      together &= isFree(axis) || other / steps[axis] % all[axis].size == rank / steps[axis] % all[axis].size;
    if (!together)
      continue;
    if (other == rank)
      group.own.rank = static_cast<int64_t>(group.members.size());
    group.members.push_back(other);
  }
  group.own.size = static_cast<int64_t>(group.members.size());
  return group;
}

Mesh Mesh::along(const std::string &axes) const {
  const std::vector<std::string> names = split(axes);
  Mesh mesh;
  for (const MeshAxis &axis : all)
    if (std::find(names.begin(), names.end(), axis.name) != names.end())
      mesh.all.push_back(axis);
  return mesh;
}

unsigned Mesh::numberOf(const std::string &axes) const {
  const std::vector<std::string> names = split(axes);
  unsigned number = 0, every = 0;
  for (const MeshAxis &axis : all) {
    const auto bit = 1u << (std::find(std::begin(kAxes), std::end(kAxes), axis.name) - std::begin(kAxes));
    every |= bit;
    number |= std::find(names.begin(), names.end(), axis.name) != names.end() ? bit : 0;
  }
  return number == every ? 0 : number;
}

std::string Mesh::text() const {
  std::vector<std::string> words;
  for (const MeshAxis &axis : all)
    words.push_back(fmt::format("{}={}", axis.name, axis.size));
  return fmt::format("{}", fmt::join(words, ","));
}

std::string Mesh::placeOf(int64_t rank) const {
  if (all.size() < 2 && sizeOf(kPipeline) == 1)
    return "";
  const std::vector<int64_t> steps = strides();
  std::vector<std::string> words;
  for (size_t axis = 0; axis < all.size(); ++axis)
    words.push_back(fmt::format("{} {}", all[axis].name == kPipeline ? "stage" : all[axis].name,
                                rank / steps[axis] % all[axis].size));
  return fmt::format("{}", fmt::join(words, ", "));
}

} // namespace kedge::rt
