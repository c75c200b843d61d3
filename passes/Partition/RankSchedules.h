// The collectives of each rank's program, in the order in which it issues them.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/program/Mesh.h"
#include "llvm/ADT/MapVector.h"

namespace kedge::partition {

/// What all ranks of a group have to issue alike.
struct ScheduledCollective {
  mlir::Operation *op;
  llvm::StringRef kernel, axis;
  int64_t ranks = 0;
  mlir::DictionaryAttr attrs;
  llvm::SmallVector<mlir::Type> types; ///< operands, then results; of a transfer: what is sent
  std::optional<int64_t> peer;         ///< of a transfer between two: the other's place along the axis

  bool agreesWith(const ScheduledCollective &other) const {
    return peer.has_value() == other.peer.has_value() &&
           (peer ? kernel != other.kernel : kernel == other.kernel) && attrs == other.attrs &&
           types == other.types;
  }
};

/// Collectives in order, by function.
using RankSchedules = llvm::MapVector<llvm::StringRef, std::vector<ScheduledCollective>>;

struct RankProgram {
  mlir::Operation *module = nullptr; ///< several ranks may run one
  std::string name;                  ///< "rank 1 (replica 0, data 1)", or the module's own
  RankSchedules schedules;
};

rt::Mesh meshOf(mlir::Operation *module);

/// By rank: programs that stand in the module, in the order of ranks or, where they say so (`dist.ranks`),
/// for these ranks; else the module itself, for all. Reports ranks without a program, or with two.
mlir::FailureOr<std::vector<RankProgram>> rankPrograms(mlir::ModuleOp module);

} // namespace kedge::partition
