// Products by cuBLASLt: fp32 and fp64 at full precision (no TF32),
// 16-bit and 8-bit types with fp32 sums. Algorithms come from the table.
#pragma once
#include "runtime/calls/AlgorithmTable.h"
#include "runtime/calls/LibraryWork.h"
#include "runtime/calls/PaddedMatmul.h"
#include "runtime/cuda/library/LibraryLaunch.h"
#include <cublasLt.h>

namespace kedge::rt::cuda {
using namespace calls;

class MatmulLaunch;

class CublasLt {
public:
  /// Opens the library that fits the driver. Throws rt::RuntimeError when there is none.
  CublasLt(Gpu &gpu, const AlgorithmTable &table);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  std::unique_ptr<LibraryLaunch> makeLaunch(const LibraryCall &call, const LaunchPointers &pointers);

  /// Times the algorithms that the library proposes for a product, on buffers of its
  /// own, and returns the key and the bytes of the fastest. Only for kedge-bench tune.
  struct Tuned {
    std::string key;
    AlgorithmBytes algorithm;                       ///< empty: there is nothing to choose
    double microseconds = 0, firstMicroseconds = 0; ///< of the best, and of the first proposal that ran
    bool isPadded = false;                          ///< the fastest computes the padded product
    int refused = 0;                                ///< number of proposals that did not run
  };
  Tuned tune(const LibraryCall &call);
  /// Of the call with all that it asks for; tune() may return that of what is left without an epilogue.
  std::string keyOf(const LibraryCall &call) const;

  /// Whether what is enqueued from here on belongs to the first micro-batch of a step.
  void setFirstMicro(bool first) { isFirstMicro = first; }

  uint64_t version() const { return libraryVersion; }
  /// Number of different products by the source of their algorithm: the name of a table, or the library.
  const std::map<std::string, int> &choices() const { return sources; }

private:
  friend class MatmulLaunch;
  struct Descriptors;
  /// Nothing if the library has no algorithm.
  std::optional<cublasLtMatmulAlgo_t> algorithmFor(const Descriptors &descriptors, const MatmulShape &shape,
                                                   bool isPadded) const;
  /// The wide product, if the table says that its algorithm is for that, or says nothing and it is faster.
  std::optional<PaddedMatmul> paddedOf(const MatmulCalls &calls) const;
  /// Whether the program's kernels compute the epilogue although the library may have an algorithm with it.
  bool runsApart(const MatmulShape &shape) const;
  /// One way to compute the call.
  Tuned tune(const LibraryCall &call, const MatmulCalls &calls);
  /// Times what the library proposes for the launch.
  void tune(MatmulLaunch &launch, Tuned &best) const;
  [[noreturn]] void failWithout(const MatmulShape &shape) const;
  /// The calls, of wide matrices with `padded`; the bias becomes a separate step if the library has no
  /// algorithm that adds it.
  MatmulCalls takenCalls(MatmulCalls calls, const std::optional<PaddedMatmul> &padded) const;
  std::vector<cublasLtMatmulHeuristicResult_t> proposals(const Descriptors &descriptors,
                                                         const MatmulShape &shape, int count) const;
  std::string keyOf(const MatmulShape &shape) const;
  /// Throws rt::RuntimeError if the library rejects an algorithm of the table.
  void checkStored(const Descriptors &descriptors, const MatmulShape &shape,
                   const cublasLtMatmulAlgo_t &algorithm, const std::string &source,
                   const std::string &key) const;
  void check(cublasStatus_t status, const std::string &what) const;

  Gpu &gpu;
  const AlgorithmTable &table;
  cublasLtHandle_t handle = nullptr;
  uint64_t libraryVersion = 0;
  bool isFirstMicro = false;
  bool tunesEpilogue = false; ///< GELU's derivative in the epilogue is being timed
  mutable std::map<std::pair<std::string, bool>, std::optional<cublasLtMatmulAlgo_t>>
      chosen; ///< by key, and whether for wide matrices
  mutable std::map<std::string, int> sources;

  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtGetVersion) getVersion = nullptr;
  decltype(&::cublasLtGetCudartVersion) getCudartVersion = nullptr;
  decltype(&::cublasLtGetStatusString) statusString = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtMatmulAlgoCheck) checkAlgorithm = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) getHeuristic = nullptr;
  decltype(&::cublasLtMatmulDescCreate) descCreate = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) descDestroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) descSet = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layoutCreate = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layoutDestroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layoutSet = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preferenceCreate = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preferenceDestroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preferenceSet = nullptr;
};

} // namespace kedge::rt::cuda
