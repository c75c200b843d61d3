// Which elements of a tensor a process holds: all, a range, a box, or a flat part of a box.
#pragma once
#include "runtime/program/Mesh.h"
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kedge::rt {

/// Elements [whole, whole + count) of a tensor, which are at [here, here + count) of what a process holds.
struct ElementRun {
  int64_t whole = 0, here = 0, count = 0;
};

/// The part of a tensor that a state contains. Its other elements are padding.
class StateView {
public:
  /// Elements [first, first + count) of the tensor, at element `at` of the state.
  static StateView range(std::vector<int64_t> whole, int64_t first, int64_t at, int64_t count);
  /// A box: along dimension d the runs dims[d], in a box of this shape.
  static StateView box(std::vector<int64_t> whole, std::vector<std::vector<ElementRun>> dims,
                       std::vector<int64_t> room);
  /// Of a box's elements, padding included, [begin, begin + size) alone: they are at element 0 on.
  StateView flatPart(int64_t begin, int64_t size) const;

  /// Elements that are held.
  int64_t count() const { return held; }
  /// In their order in the tensor, which is their order here. Runs that touch are one.
  void forEachRun(const std::function<void(const ElementRun &)> &visit) const;
  std::vector<ElementRun> runs() const;
  /// The only run; with a count of 0 where there is none, and -1 where there are several.
  ElementRun onlyRun() const;

  std::vector<int64_t> whole; ///< shape of the tensor, with the arena's order of axes

private:
  StateView() = default;
  void countRuns();

  std::vector<std::vector<ElementRun>> dims; ///< of the first dimensions; the others are whole
  std::vector<int64_t> room;                 ///< shape of the box, padding included
  int64_t begin = 0, end = 0, at = 0;        ///< elements of the box that are held, and where
  int64_t held = 0;
};

/// One dimension, cut into blocks over the ranks along an axis: of a section of s elements in groups of
/// `unit` each rank has room for the elements of ceil(groups / ranks) groups, and the last ranks hold fewer.
struct Cut {
  size_t dim = 0;
  std::string axis;
  std::vector<int64_t> sections; ///< cut one by one; a rank's blocks of them stand in a row. Empty: one
  int64_t unit = 1;
};

/// A tensor that is cut over the ranks of a mesh.
struct Shard {
  std::vector<int64_t> shape; ///< of the whole, with the arena's order of axes
  std::vector<Cut> cuts;
  bool flat = true; ///< the box that the cuts leave is cut into flat parts over flatAxes() (shardSize)
  /// Places along `pipeline` whose ranks hold it, in their order; the others hold nothing. Empty: all do.
  std::vector<int64_t> stages;

  /// `data` and `expert`; `data` alone where a cut is along `expert`.
  const char *flatAxes() const;
  /// The axes along which ranks hold different elements, joined by commas.
  std::string axes() const;
  /// The shape of each rank's part, padding included.
  std::vector<int64_t> localShape(const Mesh &mesh) const;
  StateView viewOf(const Mesh &mesh, int64_t rank) const;
  /// Whether it is cut by stages alone.
  bool isWholeOnStages() const { return !stages.empty() && cuts.empty() && !flat; }
  /// Whether a rank holds any of it, by its stage.
  bool isHeldBy(const Mesh &mesh, int64_t rank) const;
  /// Whether a rank is of the first stage that holds it, which speaks for the others.
  bool isGivenBy(const Mesh &mesh, int64_t rank) const;

private:
  StateView heldBy(const Mesh &mesh, int64_t rank) const;
  std::vector<int64_t> room(const Mesh &mesh) const;
};

/// As in a program's description (include/kedge/abi/program.md). Throws rt::RuntimeError, or nlohmann's.
Shard localShardOf(const nlohmann::ordered_json &json);
Shard localShardOf(const nlohmann::json &json);
/// The same without its shape.
nlohmann::ordered_json cutsJson(const Shard &shard);

/// Copies a part's elements, `size` bytes each, to their places in the tensor.
void scatter(const StateView &view, const char *part, char *whole, size_t size);
/// Copies a part's elements without its padding.
void pack(const StateView &view, const char *part, char *packed, size_t size);

} // namespace kedge::rt
