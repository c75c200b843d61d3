// What lint, plan and compile are told about the model, as plain values.
#pragma once
#include "lib/Import/ForTraining.h"
#include "lib/Lint/Lint.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/program/Mesh.h"
#include <map>
#include <optional>

namespace kedge::driver {

/// The loss: as kedge-add-loss takes it, but for `kind`, which is `loss` here, and for weights, which are
/// files here.
struct ModelOptions : autodiff::AddLossOptions {
  std::string model;
  std::map<std::string, std::vector<int64_t>> shapes; // per rank and micro-batch
  /// Of inputs with sizes in {}: their shape in each bucket, the smallest first. `shapes` has the largest.
  std::map<std::string, std::vector<std::vector<int64_t>>> buckets;
  std::map<std::string, std::string> values; // inputs that are constants
  bool documents = false; // documents in a row do not see each other: an input says where they begin
  std::string noCache;    // "" and "true": caches are empty; "off": they stay inputs
  std::optional<LossSpec> loss;
  std::vector<std::string> train, trainOnly, freeze, tie;
  std::vector<std::string> trainMode; // expressions; "true" where none was given, "off": as the file stands
  std::string repair;                 // "" (what the record decides), "true" (all), "off"
  std::map<std::string, int64_t> paddingRows;     // expression -> row
  std::optional<lint::VocabularySize> vocabulary; ///< --resize-vocab
  bool strict = false;
  bool compiles = true; ///< false: kedge lint, which mends nothing that it is not told to
  std::vector<std::string> allow;
  std::vector<int64_t> ranks = {1}; ///< in all; several: a plan each
  std::optional<rt::Mesh> mesh;     ///< --mesh with all its axes; none: all ranks along `data`

  std::vector<std::string> plugins; ///< --load-pass-plugin
  std::string configuration;        ///< the device configuration of the file that is followed; empty: none

  /// The mesh of the (first) number of ranks.
  rt::Mesh meshOfRanks() const { return mesh.value_or(rt::Mesh::ofData(ranks.front())); }
  pipelines::AdapterOptions adapters;

  lint::LintOptions lintOptions() const;
  importer::Settled settled() const;
};

} // namespace kedge::driver
