// Clusters and library calls -> gpu.func kernels.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Lower/OptionWords.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace kedge::lower::gpu {

/// Boxes of 16-bit numbers that the copy engine brings to shared memory, in rows of 128 bytes whose chunks of
/// 16 bytes are exchanged by the row's number. From the innermost dimension on.
struct TensorMap {
  int64_t tensor = 0, offset = 0; ///< bytes from the first byte of the op's operand of that number
  bool isBrain = false;           ///< bf16, else f16
  llvm::SmallVector<int64_t, 4> sizes, strides, box; ///< strides: bytes, of all dimensions but the first
};

/// One kernel of a launch. The kernels of a launch run in order on one stream.
struct KernelLaunch {
  struct Operand {
    enum Kind {
      Tensor,    ///< first byte of operand number `value` of the op: its inputs, then its outputs
      Workspace, ///< the launch's workspace + `value` bytes
      Map        ///< number `value` of the kernel's tensor maps
    };
    Kind kind = Tensor;
    int64_t value = 0;
  };
  std::string name; ///< gpu.func of the module; equal kernels share one
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  llvm::SmallVector<Operand> operands; ///< the kernel's arguments, in order
  std::vector<TensorMap> maps;         ///< for operands
};

struct LaunchCode {
  llvm::SmallVector<KernelLaunch> kernels; ///< empty: nothing to do (tensors without elements)
  int64_t workspaceBytes = 0; ///< contents undefined before and after the launch; 256-byte aligned
  bool isRuntimeCall = false; ///< the runtime calls a library; kernels do what the library may not
};

/// A cluster as a call of a function that knows no shape (FlatKernels.h).
struct FlatCode {
  std::string function; ///< gpu.func of the module, not a kernel
  int64_t elements = 0;
};

/// Emits kernels into one gpu.module, equal ones once. A kernel's arguments are bare pointers to global
/// memory
/// (!llvm.ptr<1>) that are aligned to 16 bytes; shapes are constants. An output may share its bytes with an
/// input under the rule of KernelEmitter.h. What is emitted depends on the op only: emitting again, into any
/// module, gives equal workspaces.
class GpuEmitter {
public:
  /// `warpgroups`: kernels may be of Hopper's own instructions (sm_90a).
  explicit GpuEmitter(mlir::gpu::GPUModuleOp module, bool warpgroups = false);
  /// Plans only: what launches consist of, and the workspaces they need, without code. The decisions are the
  /// same ones.
  static GpuEmitter planner() { return GpuEmitter(); }

  /// A cluster or a library call, emitted or as a call of the runtime. Fails after a diagnostic at the op.
  mlir::FailureOr<LaunchCode> emitLaunch(mlir::Operation *launch, Convolutions convolutions);
  /// Fails after a diagnostic at the op.
  mlir::FailureOr<LaunchCode> emit(sched::ClusterOp cluster);
  /// Kernels of the generator that passes/Lower/Gpu/library has for the call.
  mlir::FailureOr<LaunchCode> emit(sched::LibraryOp call);
  /// The function that the cluster shares with others of the same body; nothing where its shape matters.
  std::optional<FlatCode> emitFlat(sched::ClusterOp cluster);
  /// Products, and convolutions that are cuDNN's: the runtime calls a library.
  static bool isRuntimeCall(sched::LibraryOp call, Convolutions convolutions);

  /// For generators: the kernel of this `key` (all that decides its code), made by `body` when it is new.
  /// `body` finds the builder in the entry block of a function of `pointers` arguments; a return follows.
  /// Gives the function's name: "k<number>_<hint>".
  using Body = llvm::function_ref<void(mlir::OpBuilder &, mlir::gpu::GPUFuncOp)>;
  std::string kernel(llvm::StringRef key, llvm::StringRef hint, unsigned pointers,
                     std::array<int64_t, 3> block, Body body);
  size_t kernelCount() const { return byKey.size(); }
  bool hasWarpgroups() const { return warpgroups; }

private:
  GpuEmitter() = default;
  /// What is left of a train.fused_product when the product alone has run.
  mlir::FailureOr<LaunchCode> emitEpilogue(sched::LibraryOp call);

  mlir::gpu::GPUModuleOp module; ///< null: nothing is emitted
  bool warpgroups = false;
  llvm::StringMap<std::string> byKey;
  llvm::StringMap<LaunchCode> clusters;
  llvm::StringMap<std::string> flatFunctions;
};

/// `bytes` of shared memory (at most 48 KiB for all of a kernel) as a !llvm.ptr<3>: a global of the kernel's
/// module.
mlir::Value sharedMemory(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, int64_t bytes,
                         int64_t alignment = 16);

} // namespace kedge::lower::gpu
