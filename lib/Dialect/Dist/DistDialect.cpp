#include "kedge/Dialect/Dist/DistDialect.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ContextAxis.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/Dist/RoutingOps.h"
#include "lib/Dialect/Kedge/NoteRules.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::dist;

/// A list in brackets that may be empty, which TableGen's own form of a list is not.
template <typename Entry> static ParseResult parseList(AsmParser &parser, SmallVector<Entry> &list) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    FailureOr<Entry> entry = FieldParser<Entry>::parse(parser);
    if (failed(entry))
      return failure();
    list.push_back(*entry);
    return success();
  });
}

template <typename Entry> static void printList(AsmPrinter &printer, ArrayRef<Entry> list) {
  printer << '[';
  printer.printStrippedAttrOrType(list);
  printer << ']';
}

#include "kedge/Dialect/Dist/DistAttrsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Dist/DistAttrs.cpp.inc"
#include "kedge/Dialect/Dist/DistDialect.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kedge/Dialect/Dist/DistAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Dist/CollectiveOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Dist/RoutingOps.cpp.inc"
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

LogicalResult CutAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t dim, StringAttr axis,
                              int64_t ranks, ArrayRef<int64_t> sections, int64_t unit) {
  if (dim < 0 || ranks < 1 || unit < 1 || llvm::any_of(sections, [](int64_t size) { return size < 1; }))
    return emitError() << "a cut of dimension " << dim << " over " << ranks << " ranks along " << axis
                       << " in units of " << unit
                       << ": expected a dimension from 0 and ranks, sections and a unit from 1";
  return success();
}

int64_t CutAttr::room(int64_t size) const {
  int64_t room = 0;
  for (int64_t section : getSections().empty() ? ArrayRef<int64_t>(size) : getSections())
    room += shardElements(shardElements(section, getUnit()), getRanks()) * getUnit();
  return room;
}

/// Each cut is of a dimension of its own, and its sections make that dimension.
static LogicalResult verifyCut(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                               CutAttr cut, int64_t cutsOfDim) {
  const int64_t dim = cut.getDim(), sections = llvm::sum_of(cut.getSections());
  if (dim >= static_cast<int64_t>(shape.size()) || cutsOfDim != 1)
    return emitError() << "a cut of dimension " << dim << " of a tensor of " << shape.size()
                       << " dimensions, " << cutsOfDim
                       << " of them of this one or along its axis: expected one of each";
  if (!cut.getSections().empty() && sections != shape[dim])
    return emitError() << "sections of " << sections << " elements in dimension " << dim << ", which has "
                       << shape[dim] << ": expected as many";
  return success();
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                   ArrayRef<CutAttr> cuts, StringAttr axis, int64_t ranks,
                                   ArrayRef<int64_t> stages, int64_t own) {
  if (ranks < 1 || llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return emitError() << "a shard over " << ranks << " ranks along " << axis
                       << ": expected 1 or more ranks and sizes that are not negative";
  if (cuts.empty() && !axis && stages.empty())
    return emitError() << "a shard that nothing cuts: expected cuts of dimensions, an axis, or stages";
  if (!llvm::is_sorted(stages) || (!stages.empty() && (stages.front() < 0 || own < 0)))
    return emitError() << "a shard on stages that do not rise from 0, or seen from stage " << own
                       << ": expected stages from 0 in their order";
  for (CutAttr cut : cuts)
    if (axis && llvm::is_contained(llvm::split(cut.getAxis().getValue(), ','), axis.getValue()))
      return emitError() << "a box of " << cut.getAxis() << " that is cut over " << axis
                         << " once more: expected two axes";
  for (CutAttr cut : cuts)
    if (failed(verifyCut(emitError, shape, cut, llvm::count_if(cuts, [&](CutAttr other) {
                           return other.getDim() == cut.getDim() || other.getAxis() == cut.getAxis();
                         }))))
      return failure();
  return success();
}

RankedTensorType ShardingAttr::partOf(Type whole) const {
  if (!isHere())
    return RankedTensorType::get({0}, cast<RankedTensorType>(whole).getElementType());
  RankedTensorType box = boxOf(whole, getCuts());
  return isFlat() ? localShardOf(box, getRanks()) : box;
}

LogicalResult SlotAttr::verify(function_ref<InFlightDiagnostic()> emitError, SlotPart part, int64_t micro,
                               int64_t stage, FloatAttr begin, FloatAttr end) {
  if (micro < 0 || stage < 0 || begin.getValueAsDouble() > end.getValueAsDouble())
    return emitError() << "a slot " << stringifySlotPart(part) << " of micro-batch " << micro << " on stage "
                       << stage << " from " << begin << " to " << end
                       << ": expected numbers from 0 and an end after the begin";
  return success();
}

static bool isListOfAnnotations(Operation *op, Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return isa<ModuleOp>(op) && list &&
         llvm::all_of(list, [](Attribute each) { return isa<AnnotationAttr>(each); });
}

static constexpr NoteRule noteRules[] = {
    {meshName, "a #dist.mesh, on a module", isNoteOn<ModuleOp, MeshAttr>},
    {stageName, "a number, on a module", isNoteOn<ModuleOp, IntegerAttr>},
    {partsName, "a number, on a module", isNoteOn<ModuleOp, IntegerAttr>},
    {ranksName, "an array of numbers, on a module", isNoteOn<ModuleOp, DenseI64ArrayAttr>},
    {joinedName, "a unit, on a module", isNoteOn<ModuleOp, UnitAttr>},
    {annotationsName, "an array of #dist.annotation, on a module", isListOfAnnotations},
    {timetableName, "a #dist.timetable, on a module", isNoteOn<ModuleOp, TimetableAttr>},
    {pipelineStageName, "a number", [](Operation *, Attribute value) { return isa<IntegerAttr>(value); }},
    {cutName, "a #dist.cut", [](Operation *, Attribute value) { return isa<CutAttr>(value); }},
    {scatterName, "a #dist.cut", [](Operation *, Attribute value) { return isa<CutAttr>(value); }}};

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return verifyNote(op, attribute, noteRules);
}

int64_t kedge::dist::shardElements(int64_t elements, int64_t ranks) { return (elements + ranks - 1) / ranks; }

RankedTensorType kedge::dist::localShardOf(Type whole, int64_t ranks) {
  auto type = cast<RankedTensorType>(whole);
  return RankedTensorType::get(shardElements(type.getNumElements(), ranks), type.getElementType());
}

RankedTensorType kedge::dist::boxOf(Type whole, ArrayRef<CutAttr> cuts) {
  auto type = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape(type.getShape());
  for (CutAttr cut : cuts)
    shape[cut.getDim()] = cut.room(shape[cut.getDim()]);
  return type.clone(shape);
}

static ModuleOp moduleOf(Operation *op) {
  return isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
}

MeshAttr kedge::dist::meshOf(Operation *op) {
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

RankGroup kedge::dist::dataGroup(Operation *op) {
  return groupAlong(op, {dataAxis, expertAxis, contextAxis});
}
RankGroup kedge::dist::replicaGroup(Operation *op) { return groupAlong(op, {replicaAxis}); }
RankGroup kedge::dist::rowGroup(Operation *op) { return groupAlong(op, {replicaAxis, dataAxis, expertAxis}); }

RankGroup kedge::dist::contextGroup(Operation *op) { return groupAlong(op, {contextAxis}); }
RankGroup kedge::dist::gradientGroup(Operation *op) {
  return groupAlong(op, {replicaAxis, dataAxis, expertAxis, contextAxis});
}

RankGroup kedge::dist::expertGroup(Operation *op) { return groupAlong(op, {expertAxis}); }

RankGroup kedge::dist::partGroup(Operation *op, ShardingAttr sharding) {
  return isOfExperts(sharding) ? groupAlong(op, {dataAxis}) : dataGroup(op);
}

bool kedge::dist::isOfExperts(ShardingAttr sharding) {
  return sharding &&
         llvm::any_of(sharding.getCuts(), [](CutAttr cut) { return cut.getAxis() == expertAxis; });
}

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

int64_t kedge::dist::ownPartsOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module->hasAttr(joinedName) ? 1 : partsOf(op) / rowGroup(op).ranks;
}

int64_t kedge::dist::stageOf(Operation *module) {
  auto stage = module->getAttrOfType<IntegerAttr>(stageName);
  return stage ? stage.getInt() : 0;
}
