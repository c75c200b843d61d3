// What holds for each exec op by itself; what holds between them is kedge-check-memory's.
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"

using namespace mlir;
using namespace kedge::exec;
using kedge::bytesOf;
using kedge::train::BindingAttr;
using kedge::train::BindingKind;

namespace {
template <typename Arena> LogicalResult verifyArena(Arena arena) {
  int64_t align = arena.getAlign();
  if (align <= 0 || !llvm::isPowerOf2_64(align))
    return arena.emitOpError() << "has the alignment " << align << ", which is no power of two";
  if (arena.getPersistent() > arena.getBytes())
    return arena.emitOpError() << "keeps " << arena.getPersistent() << " bytes between functions, but has "
                               << arena.getBytes();
  return success();
}

LogicalResult verifyState(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr symbol) {
  if (!symbol || tables.lookupNearestSymbolFrom<kedge::train::StateOp>(op, symbol))
    return success();
  return op->emitOpError() << "names " << symbol << ", which is no train.state of the module";
}

/// The buffer behind an operand; null after an error.
BufferOp expectBuffer(Operation *op, Value operand) {
  BufferOp buffer = bufferOf(operand);
  if (!buffer)
    op->emitOpError() << "has an operand that is no exec.buffer";
  return buffer;
}

/// Tensors of other elements, of index among them, have no size in memory.
bool isOfNumbers(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isIntOrFloat();
}

LogicalResult verifyBytes(Operation *op, BufferOp buffer, Type type) {
  if (!isOfNumbers(type))
    return op->emitOpError() << "touches a " << type << ", expected a ranked tensor of numbers";
  int64_t needed = bytesOf(type);
  if (static_cast<int64_t>(buffer.getSize()) >= needed)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "touches " << needed << " bytes (" << type << ") of buffer '"
                             << buffer.getName() << "', which has " << buffer.getSize();
  error.attachNote(buffer.getLoc()) << "the buffer";
  return error;
}

LogicalResult verifyOperands(LaunchOp launch, OperandRange buffers, ArrayAttr types, StringRef what) {
  if (buffers.size() != types.size())
    return launch.emitOpError() << what << " " << buffers.size() << " buffers, but has " << types.size()
                                << " types for them";
  for (auto [operand, type] : llvm::zip_equal(buffers, types.getAsValueRange<TypeAttr>())) {
    BufferOp buffer = expectBuffer(launch, operand);
    if (!buffer)
      return failure();
    if (buffer.getHost())
      return launch.emitOpError() << "touches buffer '" << buffer.getName()
                                  << "' in host memory: only exec.copy may";
    if (!isOfNumbers(type))
      return launch.emitOpError() << what << " a " << type << ", expected a ranked tensor of numbers";
    if (failed(verifyBytes(launch, buffer, type)))
      return failure();
  }
  return success();
}
} // namespace

llvm::SmallVector<BindingAttr> BufferOp::bound() {
  ArrayAttr bindings = getBindingsAttr();
  return bindings ? llvm::to_vector(bindings.getAsRange<BindingAttr>()) : llvm::SmallVector<BindingAttr>();
}

bool BufferOp::holdsOutput() {
  return llvm::any_of(bound(), [](BindingAttr b) { return b.is(BindingKind::Output) && !b.getPart(); });
}

bool BufferOp::isPersistent() {
  return getStateAttr() || llvm::any_of(bound(), [](BindingAttr b) {
           return b.is(BindingKind::Scalar) || b.is(BindingKind::Result);
         });
}

LogicalResult ArenaOp::verify() { return verifyArena(*this); }

LogicalResult HostArenaOp::verify() {
  for (FileAttr file : getListed())
    if (file.getBytes() <= 0 || file.getBytes() % diskBlock != 0)
      return emitOpError() << "has " << file.getBytes() << " bytes in a file, expected whole blocks of "
                           << diskBlock;
  if (getDiskBytes() > static_cast<int64_t>(getPersistent()))
    return emitOpError() << "has " << getDiskBytes() << " bytes in files, but keeps " << getPersistent()
                         << " bytes between functions";
  return verifyArena(*this);
}

int64_t HostArenaOp::getDiskBytes() {
  int64_t bytes = 0;
  for (FileAttr file : getListed())
    bytes += file.getBytes();
  return bytes;
}

llvm::SmallVector<FileAttr> HostArenaOp::getListed() {
  ArrayAttr files = getFilesAttr();
  return files ? llvm::to_vector(files.getAsRange<FileAttr>()) : llvm::SmallVector<FileAttr>();
}

LogicalResult FunctionOp::verifyRegions() {
  if (getKind() && getSymName() != kedge::train::stringifyFunctionKind(*getKind()))
    return emitOpError() << "is of kind '" << kedge::train::stringifyFunctionKind(*getKind())
                         << "' and called '" << getSymName() << "': programs know the kind by the name";
  for (Operation &op : getBody().front())
    if (!isa<BufferOp, LaunchOp, CopyOp, GradientOp>(op)) {
      InFlightDiagnostic error = emitOpError() << "holds buffers, launches, copies and gradients only";
      error.attachNote(op.getLoc()) << "found '" << op.getName() << "'";
      return error;
    }
  return success();
}

LogicalResult BufferOp::verify() {
  int64_t first = getFirst(), last = getLast();
  if (first < -1 || last < first)
    return emitOpError() << "lives from launch " << first << " to launch " << last;
  if (!isOfNumbers(getType()))
    return emitOpError() << "holds a " << getType() << ", expected a ranked tensor of numbers";
  if (static_cast<int64_t>(getSize()) < bytesOf(getType()))
    return emitOpError() << "has " << getSize() << " bytes, but holds a " << getType();
  if (getStateAttr() && getBindingsAttr())
    return emitOpError() << "is a state and bound to something else, too";
  for (BindingAttr binding : bound())
    if (!llvm::is_contained(
            {BindingKind::Input, BindingKind::Scalar, BindingKind::Result, BindingKind::Output},
            binding.getKind()))
      return emitOpError() << "binds " << binding
                           << ", but the host writes or reads inputs, scalars, results and outputs";
  return success();
}

LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyState(*this, tables, getStateAttr());
}

LogicalResult GradientOp::verify() {
  BufferOp buffer = expectBuffer(*this, getBuffer());
  if (!buffer)
    return failure();
  int64_t after = getAfter();
  if (after < -1)
    return emitOpError() << "is whole after launch " << after;
  return verifyBytes(*this, buffer, getType());
}

LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyState(*this, tables, getParameterAttr());
}

LogicalResult LaunchOp::verify() {
  if (failed(verifyOperands(*this, getReads(), getReadTypes(), "reads")) ||
      failed(verifyOperands(*this, getWrites(), getWriteTypes(), "writes")))
    return failure();
  return success(!getWorkspace() || expectBuffer(*this, getWorkspace()));
}

LogicalResult CopyOp::verify() {
  BufferOp source = expectBuffer(*this, getSource()), destination = expectBuffer(*this, getDestination());
  if (!source || !destination)
    return failure();
  if (source.getHost() == destination.getHost())
    return emitOpError()
           << "copies within one memory: expected one buffer of the arena and one in host memory";
  return success(succeeded(verifyBytes(*this, source, getType())) &&
                 succeeded(verifyBytes(*this, destination, getType())));
}
