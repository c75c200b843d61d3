// How the ranks of a run are arranged: along named axes. Ranks that differ along some axes only form a group.
#pragma once
#include "runtime/program/World.h"
#include <string>
#include <vector>

namespace kedge::rt {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

/// The ranks of a group, in the order of their numbers, and a rank's place among them.
struct GroupMembers {
  std::vector<int64_t> members;
  World own;
};

class Mesh {
public:
  static constexpr const char *kReplica = "replica", *kData = "data", *kExpert = "expert",
                              *kContext = "context", *kTensor = "tensor", *kPipeline = "pipeline";
  /// Ranks that differ along these train on different rows; others have the same ones.
  static constexpr const char *kRows = "replica,data,expert";
  /// Those that cut a copy of the state into flat parts; what is cut along `expert` has parts along `data`
  /// alone.
  static constexpr const char *kParts = "data,expert,context";
  /// Those along which ranks in a row have the same rows.
  static constexpr const char *kAlike = "context,tensor";

  /// One rank.
  Mesh() = default;
  /// All along `data`.
  static Mesh ofData(int64_t ranks);
  /// In any order. Throws rt::RuntimeError.
  static Mesh of(const std::vector<MeshAxis> &axes);
  /// "replica=2,data=4", in any order; empty: one rank. Throws rt::RuntimeError.
  static Mesh parse(const std::string &text);
  /// Whether `axis` is the name of one.
  static bool knows(const std::string &axis);

  /// Those with several ranks, the outermost first: ranks are numbered in this order.
  const std::vector<MeshAxis> &axes() const { return all; }
  int64_t size() const;
  /// Ranks along an axis, or along several that commas join; 1 for one that the mesh lacks.
  int64_t sizeOf(const std::string &axes) const;
  /// The ranks that have the same place as `rank` along all axes but these.
  GroupMembers groupOf(const std::string &axes, int64_t rank) const;
  /// The mesh of these axes alone, numbered as groupOf counts places.
  Mesh along(const std::string &axes) const;
  /// Tells apart the axes of groups that a rank is in: 0 for those of all ranks, less than kGroups for any.
  unsigned numberOf(const std::string &axes) const;
  static constexpr unsigned kGroups = 64;
  /// No number of a group: that of transfers between two ranks.
  static constexpr unsigned kTransfers = kGroups - 1;

  /// "replica=2,data=4"
  std::string text() const;
  /// "replica 1, data 0"; "stage 1" along `pipeline`; empty for other meshes of one axis.
  std::string placeOf(int64_t rank) const;

private:
  std::vector<int64_t> strides() const;

  std::vector<MeshAxis> all;
};

} // namespace kedge::rt
