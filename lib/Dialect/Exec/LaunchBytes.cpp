#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace kedge::exec;

static bool meetsAny(const ArenaRange &range, ArrayRef<ArenaRange> list) {
  return llvm::any_of(list, [&](const ArenaRange &other) { return range.overlaps(other); });
}

ArenaRange::ArenaRange(BufferOp buffer)
    : onHost(buffer.getHost()), begin(buffer.getOffset()),
      end(begin + static_cast<int64_t>(buffer.getSize())) {}

BufferOp kedge::exec::bufferOf(Value operand) { return operand.getDefiningOp<BufferOp>(); }

LaunchBytes::LaunchBytes(LaunchInterface launch) {
  for (Value value : launch.getReads())
    read.emplace_back(bufferOf(value));
  for (Value value : launch.getWrites())
    written.emplace_back(bufferOf(value));
  if (Value scratch = launch.getScratch())
    written.emplace_back(bufferOf(scratch));
}

void LaunchBytes::add(const LaunchBytes &other) {
  read.append(other.read);
  written.append(other.written);
}

bool LaunchBytes::writes(const ArenaRange &range) const { return meetsAny(range, written); }

bool LaunchBytes::touches(const ArenaRange &range) const {
  return meetsAny(range, read) || meetsAny(range, written);
}

bool LaunchBytes::conflictsWith(const LaunchBytes &other) const {
  return llvm::any_of(written, [&](const ArenaRange &range) { return other.touches(range); }) ||
         llvm::any_of(other.written, [&](const ArenaRange &range) { return touches(range); });
}
