#include "lib/Dialect/Dist/DistDialect.h"
#include "lib/Dialect/Dist/CollectiveOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge::dist;

#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Dist/DistAttrs.cpp.inc"
#include "lib/Dialect/Dist/DistDialect.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lib/Dialect/Dist/DistAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/Dist/CollectiveOps.cpp.inc"
      >();
}

int64_t MeshAttr::sizeOf(StringRef axes) const {
  int64_t product = 1;
  for (StringRef axis : llvm::split(axes, ',')) {
    int64_t own = 0;
    for (auto [name, size] : llvm::zip(getAxes(), getSizes()))
      own = name.getValue() == axis ? size : own;
    product *= own;
  }
  return product;
}

int64_t MeshAttr::ranks() const { return llvm::product_of(getSizes()); }

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> sizes) {
  if (axes.size() != sizes.size())
    return emitError() << "a mesh of " << axes.size() << " axes has " << sizes.size()
                       << " sizes, expected one an axis";
  for (auto [name, size] : llvm::zip(axes, sizes))
    if (size < 1 || llvm::count(axes, name) != 1)
      return emitError() << "axis " << name << " of a mesh has " << size
                         << " ranks, expected 1 or more and each name once";
  return success();
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                   StringAttr axis, int64_t ranks) {
  if (ranks < 1 || llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return emitError() << "a shard over " << ranks << " ranks along " << axis
                       << ": expected 1 or more ranks and sizes that are not negative";
  return success();
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == meshName && isa<ModuleOp>(op) && isa<MeshAttr>(attribute.getValue()))
    return success();
  const bool isNumber = attribute.getName() == stageName || attribute.getName() == partsName;
  if (isNumber && isa<ModuleOp>(op) && isa<IntegerAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() == pipelineStageName && isa<IntegerAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() == ranksName && isa<ModuleOp>(op) && isa<DenseI64ArrayAttr>(attribute.getValue()))
    return success();
  return op->emitOpError("has '") << attribute.getName().getValue() << "' = " << attribute.getValue()
                                  << ": expected '" << meshName << "' (a #dist.mesh), '" << stageName
                                  << "' or '" << partsName << "' (a number) or '" << ranksName
                                  << "' (an array of numbers), on a module, or '" << pipelineStageName
                                  << "' (a number)";
}

int64_t kedge::dist::shardElements(int64_t elements, int64_t ranks) { return (elements + ranks - 1) / ranks; }

RankedTensorType kedge::dist::localShardOf(Type whole, int64_t ranks) {
  auto type = cast<RankedTensorType>(whole);
  return RankedTensorType::get(shardElements(type.getNumElements(), ranks), type.getElementType());
}

static ModuleOp moduleOf(Operation *op) {
  return isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
}

static MeshAttr meshOf(Operation *op) {
  ModuleOp module = moduleOf(op);
  return module ? module->getAttrOfType<MeshAttr>(meshName) : MeshAttr();
}

/// Those of `axes` that the mesh has with more than one rank; none: one rank along the last.
static RankGroup groupAlong(Operation *op, ArrayRef<StringRef> axes) {
  MeshAttr mesh = meshOf(op);
  std::string joined;
  for (StringRef axis : axes)
    if (mesh && mesh.sizeOf(axis) > 1)
      joined += (joined.empty() ? "" : ",") + axis.str();
  if (joined.empty())
    return {StringAttr::get(op->getContext(), axes.back()), 1};
  return {StringAttr::get(op->getContext(), joined), mesh.sizeOf(joined)};
}

RankGroup kedge::dist::dataGroup(Operation *op) { return groupAlong(op, {dataAxis}); }
RankGroup kedge::dist::replicaGroup(Operation *op) { return groupAlong(op, {replicaAxis}); }
RankGroup kedge::dist::rowGroup(Operation *op) { return groupAlong(op, {replicaAxis, dataAxis}); }

RankGroup kedge::dist::pipelineGroup(Operation *op) { return groupAlong(op, {pipelineAxis}); }

int64_t kedge::dist::meshRanks(Operation *op) {
  MeshAttr mesh = meshOf(op);
  return mesh ? mesh.ranks() : 1;
}

int64_t kedge::dist::partsOf(Operation *op) {
  ModuleOp module = moduleOf(op);
  auto parts = module ? module->getAttrOfType<IntegerAttr>(partsName) : IntegerAttr();
  return parts ? parts.getInt() : 0;
}

int64_t kedge::dist::ownPartsOf(Operation *op) { return partsOf(op) / rowGroup(op).ranks; }

int64_t kedge::dist::stageOf(Operation *module) {
  auto stage = module->getAttrOfType<IntegerAttr>(stageName);
  return stage ? stage.getInt() : 0;
}
