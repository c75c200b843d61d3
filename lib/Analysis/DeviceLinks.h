// The links between ranks, level by level, and what a collective takes over them.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kedge::analysis {

/// What connects the ranks of a unit: those of a machine over NVLink, say, or all over a network. Ranks that
/// follow each other are in one unit.
struct LinkLevel {
  std::string name;
  int64_t ranks = 0;         ///< of a unit of this level; 0: any number (the last level)
  double bytesPerSecond = 0; ///< what a rank sends while it receives as much, and all others do so, too
  double efficiency = 1;     ///< the share of it that large collectives reach, in (0, 1]
  double seconds = 0;        ///< of a collective, whatever it sends
  double hopSeconds = 0;     ///< of a message from a rank to the next

  double rate() const { return bytesPerSecond * efficiency; }
};

/// From the innermost. None: a device has one link for any number of ranks (DeviceModel::linkSeconds).
using LinkLevels = std::vector<LinkLevel>;

/// What a rank sends in a collective.
struct CollectiveWork {
  std::vector<int64_t> members; ///< ranks of its group, by number, from rank 0 on
  int rounds = 1;               ///< 2 for an all-reduce: parts are added, then gathered
  double ringBytes = 0;         ///< sent by a rank around a ring, in all rounds
  bool toEach = false;          ///< what a rank sends is for one other each: rows for experts
};

enum class CollectiveAlgorithm { Ring, Tree, ToEach };

/// Seconds by one algorithm. Ring: parts go from neighbour to neighbour, on all levels at the same time, so
/// the slowest level counts, and n - 1 messages follow each other in a round. Tree: one level after the
/// other; within a level what a rank has doubles with each message. ToEach: a rank sends each other one its
/// part, which no other passes on, over the level that the two have in common.
double collectiveSeconds(const CollectiveWork &work, const LinkLevels &levels, CollectiveAlgorithm algorithm);
/// By the faster one; ToEach where that is what it does.
double collectiveSeconds(const CollectiveWork &work, const LinkLevels &levels);

/// Takes dgx-a100, dgx-h100, pcie, machine, or a JSON file (a name that ends in .json or contains a slash).
/// Throws kedge::Error, which lists the known names or names the wrong field.
LinkLevels loadLinks(const std::string &nameOrFile);

/// The format of files, and of a device file's key "links": a list of objects {name, ranks, bytes_per_second,
/// efficiency, seconds, hop_seconds}. `where` names the file in errors.
nlohmann::json toJson(const LinkLevels &levels);
LinkLevels linksFromJson(const nlohmann::json &json, const std::string &where);

} // namespace kedge::analysis
