// Weights of the model that a folder of adapters names, and what its file has for them.
#pragma once
#include "passes/Adapters/AdapterSites.h"
#include "runtime/format/AdapterFolder.h"

namespace kedge::adapters {

/// Where a state's first values are; null `stored`: in f32.
struct FolderTensor {
  mlir::Attribute place;
  mlir::Type stored;
};

class FolderWeights {
public:
  /// Both must outlive this object.
  FolderWeights(mlir::ModuleOp module, llvm::MutableArrayRef<AdaptedWeight> all,
                const rt::AdapterFolder &given)
      : module(module), all(all), given(given) {}

  /// The one parameter that a path of the folder fits; an error without, or with several.
  mlir::FailureOr<AdaptedWeight *> find(const std::string &end);
  /// Of the parameters of a module that the folder adapts, the one that so many later ones are wrapped
  /// around.
  mlir::FailureOr<AdaptedWeight *> findParameter(const rt::AdaptedModule &one);
  /// An error unless it has this shape.
  mlir::FailureOr<FolderTensor> tensor(const std::string &key, llvm::ArrayRef<int64_t> shape);
  /// What trains whole beside the adapters begins with the folder's values, and so does a weight under one
  /// that the folder has.
  mlir::LogicalResult setWholeTensors();

private:
  bool fitsAll(llvm::StringRef before);
  llvm::SmallVector<AdaptedWeight *> best(llvm::ArrayRef<AdaptedWeight *> fitting, const std::string &end);
  FolderTensor placeOf(const rt::TensorView &view);

  mlir::ModuleOp module;
  llvm::MutableArrayRef<AdaptedWeight> all;
  const rt::AdapterFolder &given;
};

} // namespace kedge::adapters
