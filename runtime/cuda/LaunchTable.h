// The launches of a program, ready to run: kernels found, operands placed, library calls set up.
#pragma once
#include "runtime/cuda/CopyStreams.h"
#include "runtime/cuda/TensorMaps.h"
#include "runtime/cuda/driver/Module.h"
#include "runtime/cuda/library/CublasLt.h"
#include "runtime/cuda/library/Cudnn.h"
#include "runtime/cuda/library/FileCopyLaunch.h"
#include "runtime/cuda/library/NcclRanks.h"
#include "runtime/cuda/library/OperandBlocks.h"

namespace kedge::rt::cuda {
using namespace calls;

/// One launch: generated kernels or a library call.
class ReadyLaunch {
public:
  ReadyLaunch(const Gpu &gpu, const Launch &source, CUstream stream)
      : gpu(&gpu), source(&source), stream(stream) {}
  /// Enqueues it on its stream, or adds it to the graph that is being recorded; `first`: of the launches that
  /// are enqueued together.
  void enqueue(int first) const;
  /// The same on copies of its operands, on the GPU's own stream.
  void enqueueOn(const OperandBlocks &blocks) const;
  /// "kernel k3_gelu of h.0.mlp", for messages.
  std::string name() const;

private:
  friend class LaunchTable;
  struct Kernel {
    CUfunction function = nullptr;
    const GpuKernel *shape = nullptr;
    std::vector<CUdeviceptr> operands;
    std::vector<void *> arguments; ///< addresses of `operands`
  };
  /// `early`: while the kernel before it on the stream ends, which it waits for itself.
  void start(const Kernel &kernel, void *const *arguments, CUstream on, bool early) const;

  const Gpu *gpu;
  const Launch *source;
  CUstream stream;
  int behind = -1;    ///< the launch whose kernel its first one may start before the end of; -1: none
  bool chain = false; ///< its own kernels start early
  std::vector<Kernel> kernels;
  std::unique_ptr<LibraryLaunch> library;
};

class LaunchTable {
public:
  /// Opens cuBLASLt and cuDNN if the program calls them. `hostArena` and `files` may
  /// be null if nothing is copied there, and `ranks` if there is one rank.
  LaunchTable(Gpu &gpu, const Program &program, const Module &module, CUdeviceptr arena,
              const HostArena *hostArena, FileCopies *files, const CopyStreams &streams,
              const AlgorithmTable &table, NcclRanks *ranks);
  const std::vector<ReadyLaunch> &of(const Function &function) const {
    return functions.find(&function)->second;
  }
  /// Where the number of the micro-batch lies, if launches of the function depend on it.
  std::optional<uint64_t> microOf(const Function &function) const;
  void setFirstMicro(bool first) { products->setFirstMicro(first); }
  /// Workspace bytes that library calls need outside the arena.
  uint64_t extraBytes() const { return extra; }
  /// Number of different products by the source of their algorithm.
  std::map<std::string, int> productChoices() const {
    return products ? products->choices() : std::map<std::string, int>();
  }

private:
  void bindKernels(ReadyLaunch &ready, const Launch &launch, const Module &module);
  void bindLibrary(ReadyLaunch &ready, const Launch &launch);
  static void startEarly(const Function &function, std::vector<ReadyLaunch> &list);
  void noteMicro(const Program &program, const Function &function, const Launch &launch);
  void bindCopy(ReadyLaunch &ready, const Launch &launch);
  LaunchPointers pointersOf(const Launch &launch) const;
  void placeOversized();
  /// Within a run of the function each copy is made once, as long as nothing writes what it was made of and
  /// no other call uses its place.
  void shareCopies(std::vector<ReadyLaunch> &list) const;

  Gpu &gpu;
  CUdeviceptr arena;
  const HostArena *hostArena;
  FileCopies *files;
  const CopyStreams &streams;
  const AlgorithmTable &table;
  NcclRanks *ranks;
  TensorMaps maps;
  std::unique_ptr<CublasLt> products;
  std::unique_ptr<Cudnn> convolutions;
  std::map<const Function *, std::vector<ReadyLaunch>> functions;
  std::map<const Function *, uint64_t> micros;
  uint64_t extra = 0;
};

} // namespace kedge::rt::cuda
