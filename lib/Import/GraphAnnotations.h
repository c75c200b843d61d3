// What a device configuration of the file says of the tensors of its nodes, as attributes.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "lib/Model/ShardingCheck.h"
#include "lib/Support/Error.h"

namespace kedge::importer {

/// Reads the specs of one configuration. Throws kedge::Error, with node and tensor, for what its sizes do not
/// allow and for what no mesh of ours can do yet.
class SpecReader {
public:
  SpecReader(mlir::MLIRContext &context, const model::Model &model, const std::string &configuration);

  const model::DeviceConfiguration &configuration() const { return own; }
  /// From 0; -1 when the node has none.
  int64_t stageOf(const model::NodeDevices &devices) const;
  /// The cut of a tensor of this shape; null: whole.
  dist::CutAttr read(const model::Node &node, const model::NodeDevices &devices,
                     const model::ShardingSpec &spec, llvm::ArrayRef<int64_t> shape) const;

private:
  mlir::MLIRContext &context;
  const model::Model &model;
  const model::DeviceConfiguration &own;
  model::Stages stages;
  int64_t ranks; ///< that share a tensor

  template <typename... Args>
  [[noreturn]] void failOf(const model::Node &node, const model::ShardingSpec &spec,
                           fmt::format_string<Args...> format, Args &&...args) const;
  void checkPlaces(const model::Node &node, const model::NodeDevices &devices,
                   const model::ShardingSpec &spec) const;
  const model::ShardedAxis *onlyCutAxis(const model::Node &node, const model::ShardingSpec &spec) const;
  void checkSize(const model::Node &node, const model::ShardingSpec &spec, const model::ShardedAxis &axis,
                 int64_t size) const;
  dist::CutAttr cutOf(const model::Node &node, const model::ShardingSpec &spec,
                      const model::ShardedAxis &axis, int64_t dim, int64_t size) const;
};

} // namespace kedge::importer
