// The kernels of one library call, as a generator writes them.
#pragma once
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/library/KernelBuilder.h"
#include "runtime/calls/Call.h"

namespace kedge::lower::gpu {

/// An argument of a kernel: a tensor of the call or a piece of its workspace.
struct Operand {
  Operand() = default;
  Operand(KernelLaunch::Operand place, mlir::Type element)
      : place(place), element(element), compute(computeTypeOf(element)) {}

  /// Whether numbers are rounded when they are stored.
  bool isRounded() const { return element != compute; }

  KernelLaunch::Operand place;
  mlir::Type element; ///< as in memory: signless, bool is i8
  mlir::Type compute; ///< of the numbers that kernels load and store
};

class CallKernels {
public:
  CallKernels(GpuEmitter &emitter, sched::LibraryOp op);

  Operand input(size_t at) const;
  Operand output(size_t at) const;
  /// The same bytes as integers: what only moves needs no float types.
  Operand bits(Operand operand) const;
  /// A piece of the workspace, 256-byte aligned.
  Operand workspace(mlir::Type element, int64_t count);

  /// An argument that is the address of a tensor map, of the kernels that are made from now on.
  Operand map(TensorMap map);
  /// Whether kernels may be of Hopper's own instructions.
  bool hasWarpgroups() const { return emitter.hasWarpgroups(); }

  mlir::Type f32() const { return mlir::Float32Type::get(context); }
  mlir::Type integer(unsigned bits) const { return mlir::IntegerType::get(context, bits); }
  /// Fails when the operand is no float of 16, 32 or 64 bits.
  void expectFloat(Operand operand) const;

  /// One kernel of `blocks` blocks of `threads` threads; nothing without blocks. `body` gets a memory an
  /// operand.
  using Body = Fn<void(KernelBuilder &, llvm::ArrayRef<Memory>)>;
  void kernel(llvm::StringRef hint, int64_t blocks, int64_t threads, llvm::ArrayRef<Operand> operands,
              Body body);
  /// A thread for each of `count` elements; `body` gets its number.
  using ElementBody = Fn<void(KernelBuilder &, llvm::ArrayRef<Memory>, Num)>;
  void forEach(llvm::StringRef hint, int64_t count, llvm::ArrayRef<Operand> operands, ElementBody body);

  LaunchCode take() { return std::move(code); }

  const rt::calls::LibraryCall call; ///< what the CPU's kernels read, too
  sched::LibraryOp op;

private:
  GpuEmitter &emitter;
  mlir::MLIRContext *context;
  LaunchCode code;
  std::vector<TensorMap> maps;
  std::string key;
  bool wide; ///< some tensor has more elements than 32-bit indices count
};

/// Threads of a block that works on independent elements.
inline constexpr int64_t kElementThreads = 256;
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace kedge::lower::gpu
