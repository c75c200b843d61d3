#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Dialect/Kedge/NoteRules.h"
#include "lib/Support/TensorLimits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::sched;

#include "kedge/Dialect/Sched/SchedAttrsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Sched/SchedAttrs.cpp.inc"
#include "kedge/Dialect/Sched/SchedDialect.cpp.inc"
/// The name of an op: its dialect is loaded, as the parser does for ops, so that callFacts() finds what the
/// op says of its calls.
static ParseResult parseCallee(OpAsmParser &parser, StringAttr &kernel) {
  if (parser.parseAttribute(kernel))
    return failure();
  if (const auto [dialect, name] = kernel.getValue().split('.'); !name.empty())
    parser.getContext()->getOrLoadDialect(dialect);
  return success();
}
static void printCallee(OpAsmPrinter &printer, LibraryOp, StringAttr kernel) { printer << kernel; }

#define GET_OP_CLASSES
#include "kedge/Dialect/Sched/SchedOps.cpp.inc"

void SchedDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kedge/Dialect/Sched/SchedAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Sched/SchedOps.cpp.inc"
      >();
}

namespace {
bool isLaunch(Operation *op) { return isa<ClusterOp, LibraryOp>(op); }
bool isKernel(Operation *op) { return isa<FunctionOpInterface>(op); }

template <typename Attr> bool onLaunch(Operation *op, Attribute value) {
  return isLaunch(op) && isa<Attr>(value);
}
template <typename Attr> bool onFunction(Operation *op, Attribute value) {
  return isKernel(op) && isa<Attr>(value);
}
constexpr NoteRule noteRules[] = {
    {KernelNote::getNameStr(), "the name of the function that a cluster or a library call runs",
     onLaunch<StringAttr>},
    {IterationsNote::getNameStr(), "a number of iterations, on a launch or a kernel",
     [](Operation *op, Attribute value) { return (isLaunch(op) || isKernel(op)) && isCount(value); }},
    {GrainNote::getNameStr(), "a number of iterations, on a launch or a kernel",
     [](Operation *op, Attribute value) { return (isLaunch(op) || isKernel(op)) && isCount(value); }},
    {WorkspaceNote::getNameStr(), "a number of bytes, on a launch",
     [](Operation *op, Attribute value) { return isLaunch(op) && isCount(value); }},
    {KernelsNote::getNameStr(), "a list of a GPU's kernels, on a launch", onLaunch<ArrayAttr>},
    {FlatNote::getNameStr(), "a function and its elements, on a cluster",
     isNoteOn<ClusterOp, DictionaryAttr>},
    {GridNote::getNameStr(), "the size of a grid, on a GPU's kernel", onFunction<StringAttr>},
    {HostNote::getNameStr(), "a unit, on a train.state", isNoteOn<train::StateOp, UnitAttr>},
    {DiskNote::getNameStr(), "a directory, on a train.state with 'sched.host'",
     [](Operation *op, Attribute value) {
       return isa<train::StateOp>(op) && isa<StringAttr>(value) && isOnHost(op);
     }},
    {RecomputeNote::getNameStr(), "a #sched.recompute, on the module", isNoteOn<ModuleOp, RecomputeAttr>},
    {PricesNote::getNameStr(), "a list of functions, on the module", isNoteOn<ModuleOp, ArrayAttr>},
    {SequenceNote::getNameStr(), "a list of launches, on a function", onFunction<DenseI64ArrayAttr>},
    {OffloadableNote::getNameStr(), "a list of values, on a function", onFunction<DenseI64ArrayAttr>},
};
} // namespace

LogicalResult SchedDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return verifyNote(op, attribute, noteRules);
}

namespace {
Type scalarOf(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

LogicalResult checkMaps(ClusterOp op, ArrayAttr maps, ValueRange tensors, StringRef what) {
  if (maps.size() != tensors.size())
    return op.emitOpError("has ") << maps.size() << " " << what << " maps for " << tensors.size()
                                  << " tensors";
  for (auto [attr, tensor] : llvm::zip(maps, tensors)) {
    AffineMap map = cast<AffineMapAttr>(attr).getValue();
    if (map.getNumDims() != op.getDomain().size() || map.getNumSymbols() != 0)
      return op.emitOpError("has an ") << what << " map " << attr << " over another domain";
    if ((int64_t)map.getNumResults() != cast<RankedTensorType>(tensor.getType()).getRank())
      return op.emitOpError("has an ") << what << " map " << attr << " for " << tensor.getType();
  }
  return success();
}
} // namespace

LogicalResult OffloadOp::verify() {
  for (Operation *user : getResult().getUsers())
    if (!isa<FetchOp>(user) && !user->hasTrait<OpTrait::IsTerminator>())
      return emitOpError(
                 "makes a value in host memory, which a launch reads: only sched.fetch and the return may")
                 .attachNote(user->getLoc())
             << "read here";
  return success();
}

LogicalResult FetchOp::verify() {
  Value root = rootOf(getInput());
  if (root.getDefiningOp() && !root.getDefiningOp<OffloadOp>())
    return emitOpError(
        "reads a value that is not in host memory: expected the result of sched.offload or a state");
  return success();
}

/// Of each sum the body's end alone is a reader, and each output of one names all dims that are reduced.
static LogicalResult checkSums(ClusterOp op, YieldOp yield) {
  for (auto sum : op.getBody().front().getOps<SumOp>())
    for (OpOperand &use : sum.getResult().getUses()) {
      if (use.getOwner() != yield)
        return sum.emitOpError("is read in the body: expected only sched.yield")
                   .attachNote(use.getOwner()->getLoc())
               << "read here";
      AffineMap map = cast<AffineMapAttr>(op.getOutputMaps()[use.getOperandNumber()]).getValue();
      for (int64_t dim : op.getReduced())
        if (!map.isFunctionOfDim(dim))
          return op.emitOpError("yields a sched.sum as output ")
                 << use.getOperandNumber() << ", whose map leaves out the reduced dim " << dim;
    }
  return success();
}

LogicalResult ClusterOp::verify() {
  if (llvm::any_of(getDomain(), [](int64_t size) { return size < 0; }))
    return emitOpError("has the domain [") << getDomain() << "]: a size is not negative";
  if (std::string why = tooLarge(getDomain()); !why.empty())
    return emitOpError("has a domain that no loop walks: ") << why;
  if (failed(checkMaps(*this, getInputMaps(), getInputs(), "input")) ||
      failed(checkMaps(*this, getOutputMaps(), getOutputs(), "output")))
    return failure();
  for (int64_t dim : getReduced())
    if (dim < 0 || dim >= (int64_t)getDomain().size())
      return emitOpError("reduces dim ") << dim << " of a domain of rank " << getDomain().size();
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("body takes ")
           << block.getNumArguments() << " scalars for " << getInputs().size() << " inputs";
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs()))
    if (argument.getType() != scalarOf(input.getType()))
      return emitOpError("body argument ") << argument.getType() << " for input " << input.getType();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getNumOperands() != getOutputs().size())
    return emitOpError("body must yield one scalar an output");
  for (auto [value, output] : llvm::zip(yield.getOperands(), getOutputs()))
    if (value.getType() != scalarOf(output.getType()))
      return emitOpError("body yields ") << value.getType() << " for output " << output.getType();
  return checkSums(*this, yield);
}
