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

int64_t MeshAttr::sizeOf(StringRef axis) const {
  for (auto [name, size] : llvm::zip(getAxes(), getSizes()))
    if (name.getValue() == axis)
      return size;
  return 0;
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> sizes) {
  if (axes.size() != sizes.size())
    return emitError() << "a mesh of " << axes.size() << " axes has " << sizes.size() << " sizes, expected one an axis";
  for (auto [name, size] : llvm::zip(axes, sizes))
    if (size < 1 || llvm::count(axes, name) != 1)
      return emitError() << "axis " << name << " of a mesh has " << size
                         << " ranks, expected 1 or more and each name once";
  return success();
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, StringAttr axis,
                                   int64_t ranks) {
  if (ranks < 1 || llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return emitError() << "a shard over " << ranks << " ranks along " << axis
                       << ": expected 1 or more ranks and sizes that are not negative";
  return success();
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == meshName && isa<ModuleOp>(op) && isa<MeshAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() == stageName && isa<ModuleOp>(op) && isa<IntegerAttr>(attribute.getValue()))
    return success();
  return op->emitOpError("has '") << attribute.getName().getValue() << "' = " << attribute.getValue()
                                  << ": expected '" << meshName << "' (a #dist.mesh) or '" << stageName << "' (a number), on a module";
}

int64_t kedge::dist::shardElements(int64_t elements, int64_t ranks) { return (elements + ranks - 1) / ranks; }

RankedTensorType kedge::dist::shardOf(Type whole, int64_t ranks) {
  auto type = cast<RankedTensorType>(whole);
  return RankedTensorType::get(shardElements(type.getNumElements(), ranks), type.getElementType());
}

int64_t kedge::dist::dataRanks(Operation *module) {
  auto mesh = module->getAttrOfType<MeshAttr>(meshName);
  return mesh ? std::max<int64_t>(mesh.sizeOf(dataAxis), 1) : 1;
}

int64_t kedge::dist::stageOf(Operation *module) {
  auto stage = module->getAttrOfType<IntegerAttr>(stageName);
  return stage ? stage.getInt() : 0;
}
