#include "passes/Adapters/FolderWeights.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "passes/Adapters/AdapterStates.h"

using namespace mlir;

namespace kedge::adapters {

/// Whether every module of the folder has a weight whose name begins so.
bool FolderWeights::fitsAll(StringRef before) {
  return llvm::all_of(given.paths(), [&](const std::string &path) {
    const std::string whole = before.str() + path + ".weight";
    return llvm::any_of(all, [&](AdaptedWeight &weight) { return weight.weightName() == whole; });
  });
}

/// Of several parameters that end alike, the one that is named so, or whose beginning fits the folder's
/// other names as well.
SmallVector<AdaptedWeight *> FolderWeights::best(ArrayRef<AdaptedWeight *> fitting, const std::string &end) {
  auto chosen = [&](auto &&fits) { return llvm::to_vector(llvm::make_filter_range(fitting, fits)); };
  auto exact = chosen([&](AdaptedWeight *weight) { return weight->weightName() == end; });
  if (!exact.empty() || fitting.size() < 2)
    return exact.empty() ? llvm::to_vector(fitting) : exact;
  auto shared = chosen(
      [&](AdaptedWeight *weight) { return fitsAll(StringRef(weight->weightName()).drop_back(end.size())); });
  return shared.size() == 1 ? shared : llvm::to_vector(fitting);
}

FailureOr<AdaptedWeight *> FolderWeights::findParameter(const rt::AdaptedModule &one) {
  std::string owner = one.path;
  size_t later = 0;
  for (; StringRef(owner).ends_with(rt::kWrapped); ++later)
    owner.resize(owner.size() - StringRef(rt::kWrapped).size());
  SmallVector<AdaptedWeight *> fitting;
  for (AdaptedWeight &weight : all) {
    const std::string name = weight.weightName();
    const std::string parent = StringRef(name).rsplit('.').first.str();
    if (rt::endsWithPath(parent, owner) && given.targetsParameter(name))
      fitting.push_back(&weight);
  }
  if (later >= fitting.size()) {
    module.emitError() << "--adapter " << given.folder() << ": '" << one.path << "' adapts a parameter of '"
                       << owner << "', of whose the model has " << fitting.size()
                       << ": it is an adapter of another model";
    return failure();
  }
  return fitting[fitting.size() - 1 - later];
}

FailureOr<AdaptedWeight *> FolderWeights::find(const std::string &end) {
  SmallVector<AdaptedWeight *> fitting;
  for (AdaptedWeight &weight : all)
    if (rt::endsWithPath(weight.weightName(), end))
      fitting.push_back(&weight);
  fitting = best(fitting, end);
  if (fitting.size() == 1)
    return fitting.front();
  if (fitting.empty())
    return module.emitError() << "--adapter " << given.folder() << ": no parameter's name ends with '" << end
                              << "': it is an adapter of another model";
  return module.emitError() << "--adapter " << given.folder() << ": '" << end << "' fits '"
                            << fitting[0]->name() << "' and '" << fitting[1]->name()
                            << "': expected one parameter whose name ends so";
}

FolderTensor FolderWeights::placeOf(const rt::TensorView &view) {
  MLIRContext *context = module.getContext();
  Type stored = view.desc.type == rt::DType::BF16  ? Type(BFloat16Type::get(context))
                : view.desc.type == rt::DType::F16 ? Type(Float16Type::get(context))
                                                   : Type();
  return {train::WeightAttr::get(context, given.tensorsPath(), view.data - given.tensors().file().data(),
                                 static_cast<int64_t>(view.desc.bytes())),
          stored};
}

FailureOr<FolderTensor> FolderWeights::tensor(const std::string &key, ArrayRef<int64_t> shape) {
  const rt::TensorView &view = given.tensor(key);
  if (ArrayRef<int64_t>(view.desc.shape) != shape)
    return module.emitError() << "--adapter: " << given.tensorsPath() << ": tensor '" << key << "' is "
                              << rt::shapeText(view.desc.shape) << ", the model needs "
                              << rt::shapeText(shape.vec()) << ": it is an adapter of another model";
  return placeOf(view);
}

LogicalResult FolderWeights::setWholeTensors() {
  SmallVector<std::pair<std::string, std::string>> found; // path in the folder, name
  for (const std::string &path : given.wholeTensors())
    found.emplace_back(path, path);
  for (const std::string &path : given.baseTensors()) {
    std::string name = path;
    name.erase(name.find(rt::kWrapped), StringRef(rt::kWrapped).size());
    found.emplace_back(path, name);
  }
  for (const auto &[path, name] : found) {
    FailureOr<AdaptedWeight *> weight = find(name);
    if (failed(weight))
      return failure();
    const rt::TensorView &view = given.tensor(rt::kAdapterPrefix + path);
    if (ArrayRef<int64_t>(view.desc.shape) != shapeOf((*weight)->value))
      return module.emitError() << "--adapter: " << given.tensorsPath() << ": tensor '" << path << "' is "
                                << rt::shapeText(view.desc.shape) << ", '" << (*weight)->name() << "' is "
                                << (*weight)->value.getType() << ": it is an adapter of another model";
    const FolderTensor values = placeOf(view);
    (*weight)->state.setInitAttr(values.place);
    noteStored((*weight)->state, values.stored);
  }
  return success();
}

} // namespace kedge::adapters
