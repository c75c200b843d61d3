// The choices of --auto: what may differ between ways to train one model on the same ranks.
#pragma once
#include "driver/options/CompileOptions.h"
#include "lib/Model/Model.h"
#include "lib/Solver/Mesh/JointSearch.h"

namespace kedge::driver {

/// Axes by number, in the order of JointSpace::axes. Values that are preferred when all else is equal come
/// first. kLayoutAxis: --sequence-parallel.
enum JointAxisNumber {
  kMeshAxis,
  kZeroAxis,
  kRowsAxis,
  kPrecisionAxis,
  kOffloadAxis,
  kBucketAxis,
  kLayoutAxis,
  kScheduleAxis
};

class JointSpace {
public:
  /// What `options.fixed` names is not searched over. `rowsFixed`: the model's numbers depend on the rows of
  /// a micro-batch. `experts`: numbers of ranks that divide it may share out the model's experts. Throws
  /// kedge::Error for what is not available with --auto.
  JointSpace(const CompileOptions &options, const model::Model &model, bool rowsFixed, int64_t experts = 1);

  const std::vector<solver::JointAxis> &axes() const { return all; }
  /// All that differ in more than their names.
  std::vector<solver::JointChoice> choices() const;
  /// Whether ranks have parts of the model itself.
  bool isSplit(const solver::JointChoice &choice) const;
  /// Whether there may be no program for it: ranks have parts of the model, or experts of their own.
  bool isUncertain(const solver::JointChoice &choice) const;
  /// The options of a choice, planned as one of several.
  CompileOptions optionsOf(const solver::JointChoice &choice) const;
  /// The value of an axis.
  const std::string &value(const solver::JointChoice &choice, JointAxisNumber axis) const {
    return all[axis].values[static_cast<size_t>(choice[axis])];
  }
  /// What a value of the axis `offload` moves.
  static std::vector<Offload> offloadOf(const std::string &value);
  const rt::Mesh &meshOf(const solver::JointChoice &choice) const {
    return meshes[static_cast<size_t>(choice[kMeshAxis])];
  }
  bool isChunkFixed() const;
  /// Rows of a micro-batch on one rank; 0 without a shape to change.
  int64_t rowsOf(const solver::JointChoice &choice) const;
  int64_t accumulateOf(const solver::JointChoice &choice) const;
  /// Rows of a step on each rank of the mesh.
  int64_t rowsOfStep(const solver::JointChoice &choice) const;

private:
  void addRows(const model::Model &model, bool rowsFixed);
  int64_t stepsPerMicro(const rt::Mesh &mesh) const;
  bool stands(const solver::JointChoice &choice) const;

  const CompileOptions &options;
  std::vector<solver::JointAxis> all;
  std::vector<rt::Mesh> meshes; ///< by value of the axis
  int64_t givenRanks = 1;       ///< with rows of their own, of the given mesh
  int64_t rows = 0;             ///< of --shape
};

} // namespace kedge::driver
