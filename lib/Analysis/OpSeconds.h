// The time of an op of level 2, before it is scheduled: what balances stages and times slots.
#pragma once
#include "lib/Analysis/DeviceModel.h"
#include "mlir/IR/Builders.h"
#include <map>
#include <tuple>

namespace kedge::analysis {

/// Predicted seconds of ops on a device. Library calls have the time that their launches will have. Loop
/// nests, which are fused with others, have that of writing their results. Equal ops are asked once.
class OpSeconds {
public:
  /// `device`: a name or a file; empty: this machine. Throws kedge::Error.
  explicit OpSeconds(const std::string &device);

  double of(mlir::Operation *op);

private:
  using Key = std::tuple<const void *, const void *, const void *>; ///< name, attributes, types

  double secondsOf(mlir::Operation *op) const;
  double secondsOfParts(mlir::Operation *op) const;
  double secondsOfWriting(mlir::Operation *op) const;

  DeviceModel device;
  std::map<Key, double> known;
};

} // namespace kedge::analysis
