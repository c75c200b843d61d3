#include "runtime/cuda/library/CublasLt.h"
#include "runtime/cuda/TuneOperands.h"
#include "runtime/cuda/library/MatmulLaunch.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace kedge::rt::cuda {
using namespace calls;

namespace {

static_assert(sizeof(cublasLtMatmulAlgo_t) == kCublasLtAlgorithmBytes);

/// Libraries of the driver's generation first; those of a newer one do not run on it.
std::vector<std::string> libraryNames(int driverVersion) {
  if (driverVersion >= 13000)
    return {"libcublasLt.so.13", "libcublasLt.so.12"};
  return {"libcublasLt.so.12"};
}

cudaDataType typeOf(DType type) {
  switch (type) {
  case DType::F64:
    return CUDA_R_64F;
  case DType::BF16:
    return CUDA_R_16BF;
  case DType::F16:
    return CUDA_R_16F;
  case DType::F8E4M3:
    return CUDA_R_8F_E4M3;
  case DType::F8E5M2:
    return CUDA_R_8F_E5M2;
  default:
    return CUDA_R_32F;
  }
}

/// The library's A is our B, its rows our columns.
cublasLtEpilogue_t epilogueOf(const MatmulShape &shape) {
  switch (shape.epilogue) {
  case Epilogue::Gelu:
    return shape.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  case Epilogue::GeluKept:
    return shape.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  case Epilogue::GeluGrad:
    return CUBLASLT_EPILOGUE_DGELU;
  case Epilogue::GeluGradSums:
    return CUBLASLT_EPILOGUE_DGELU_BGRAD;
  case Epilogue::SumsOfA:
    return CUBLASLT_EPILOGUE_BGRADB;
  case Epilogue::SumsOfB:
    return CUBLASLT_EPILOGUE_BGRADA;
  case Epilogue::None:
    break;
  }
  return shape.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

bool hasGeluGradient(const MatmulShape &shape) {
  return shape.epilogue == Epilogue::GeluGrad || shape.epilogue == Epilogue::GeluGradSums;
}

/// KEDGE_EPILOGUES=apart or fused asks for one way for all products, to compare.
std::optional<bool> wishedApart() {
  const char *wish = std::getenv("KEDGE_EPILOGUES");
  if (wish && (std::strcmp(wish, "apart") == 0 || std::strcmp(wish, "fused") == 0))
    return std::strcmp(wish, "apart") == 0;
  return std::nullopt;
}

bool isSixteenBit(DType type) { return type == DType::BF16 || type == DType::F16; }

} // namespace

CublasLt::CublasLt(Gpu &gpu, const AlgorithmTable &table) : gpu(gpu), table(table) {
  const auto library = SharedLibrary::open(
      libraryNames(gpu.driverVersion()),
      fmt::format(
          "matrix products need cuBLAS for CUDA {} or older, which is what the driver takes: it comes with "
          "CUDA's toolkit, and with the Python wheel nvidia-cublas",
          versionText(gpu.driverVersion())));
  library.bind(create, "cublasLtCreate");
  library.bind(destroy, "cublasLtDestroy");
  library.bind(getVersion, "cublasLtGetVersion");
  library.bind(getCudartVersion, "cublasLtGetCudartVersion");
  library.bind(statusString, "cublasLtGetStatusString");
  library.bind(matmul, "cublasLtMatmul");
  library.bind(checkAlgorithm, "cublasLtMatmulAlgoCheck");
  library.bind(getHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.bind(descCreate, "cublasLtMatmulDescCreate");
  library.bind(descDestroy, "cublasLtMatmulDescDestroy");
  library.bind(descSet, "cublasLtMatmulDescSetAttribute");
  library.bind(layoutCreate, "cublasLtMatrixLayoutCreate");
  library.bind(layoutDestroy, "cublasLtMatrixLayoutDestroy");
  library.bind(layoutSet, "cublasLtMatrixLayoutSetAttribute");
  library.bind(preferenceCreate, "cublasLtMatmulPreferenceCreate");
  library.bind(preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  library.bind(preferenceSet, "cublasLtMatmulPreferenceSetAttribute");
  libraryVersion = getVersion();
  if (const int made = static_cast<int>(getCudartVersion()); made / 1000 > gpu.driverVersion() / 1000)
    fail("{} is made for CUDA {}, and NVIDIA's driver for CUDA {}: install a newer driver, or cuBLAS of CUDA "
         "{}",
         library.name(), versionText(made), versionText(gpu.driverVersion()), gpu.driverVersion() / 1000);
  check(create(&handle), "cuBLASLt (" + library.name() + ") does not start");
}

CublasLt::~CublasLt() {
  if (handle)
    destroy(handle);
}

void CublasLt::check(cublasStatus_t status, const std::string &what) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail("{}: {} ({})", what, statusString(status), static_cast<int>(status));
}

/// cuBLAS thinks in columns: a row-major matrix is its own transpose there, so Y' = B' A' is computed.
struct CublasLt::Descriptors {
  Descriptors(const CublasLt &library, const MatmulShape &s) : library(library) {
    const bool wide = s.type == DType::F64;
    const cudaDataType type = typeOf(s.type), typeA = typeOf(s.typeA), typeB = typeOf(s.typeB);
    // Sums, alpha and beta of 16-bit numbers are fp32: results are rounded once.
    library.check(library.descCreate(&operation, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                     wide ? CUDA_R_64F : CUDA_R_32F),
                  "matmul");
    const cublasOperation_t first = s.transB ? CUBLAS_OP_T : CUBLAS_OP_N,
                            second = s.transA ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, first);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second);
    setEpilogue(s);
    b = layout(typeB, s.widthB(), s.transB ? s.n : s.k, s.rowB, s, s.strideB);
    a = layout(typeA, s.widthA(), s.transA ? s.k : s.m, s.rowA, s, s.strideA);
    y = layout(type, s.n, s.m, s.rowY, s, s.m * s.n);
  }
  ~Descriptors() {
    for (cublasLtMatrixLayout_t made : {a, b, y})
      if (made)
        library.layoutDestroy(made);
    library.descDestroy(operation);
  }
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;

  template <typename T> void set(cublasLtMatmulDescAttributes_t attribute, const T &value) const {
    library.check(library.descSet(operation, attribute, &value, sizeof(value)),
                  "cuBLASLt takes no such product");
  }

  /// Algorithms depend on the alignment of these addresses, which are not known yet: all operands begin at
  /// multiples of 256.
  void setEpilogue(const MatmulShape &s) const {
    const void *aligned = reinterpret_cast<const void *>(uintptr_t(256));
    if (s.bias || s.epilogue != Epilogue::None)
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(s));
    if (s.bias || s.hasSums())
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
    if (!s.hasAuxiliary())
      return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, s.n);
  }

  cublasLtMatrixLayout_t layout(cudaDataType type, int64_t rows, int64_t columns, int64_t lead,
                                const MatmulShape &shape, int64_t stride) const {
    cublasLtMatrixLayout_t made = nullptr;
    library.check(
        library.layoutCreate(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), lead),
        "cuBLASLt takes no such matrix");
    if (shape.batch > 1) {
      const int32_t count = static_cast<int32_t>(shape.batch);
      library.check(library.layoutSet(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
                    "batch");
      library.check(
          library.layoutSet(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
          "batch");
    }
    return made;
  }

  const CublasLt &library;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, y = nullptr;
};

std::string CublasLt::keyOf(const MatmulShape &shape) const {
  return algorithmKey("cublaslt", libraryVersion, gpu.name(), shape.key());
}

std::vector<cublasLtMatmulHeuristicResult_t> CublasLt::proposals(const Descriptors &d,
                                                                 const MatmulShape &shape, int count) const {
  cublasLtMatmulPreference_t preference = nullptr;
  check(preferenceCreate(&preference), "cuBLASLt");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto &value) {
    check(preferenceSet(preference, attribute, &value, sizeof(value)), "cuBLASLt");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<size_t>(shape.workspaceBytes));
  const uint32_t alignment = static_cast<uint32_t>(shape.alignment);
  for (auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(which, alignment);
  // Partial sums of a product that is cut along k meet in fp32, too.
  if (isSixteenBit(shape.type))
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(count));
  int results = 0;
  const cublasStatus_t status =
      getHeuristic(handle, d.operation, d.b, d.a, d.y, d.y, preference, count, found.data(), &results);
  preferenceDestroy(preference);
  const bool isRefused = status == CUBLAS_STATUS_NOT_SUPPORTED ||
                         (status == CUBLAS_STATUS_INVALID_VALUE && shape.epilogue != Epilogue::None);
  if (!isRefused)
    check(status, "cuBLASLt proposes no algorithm for " + shape.key());
  found.resize(static_cast<size_t>(std::max(0, results)));
  std::erase_if(found, [](const auto &result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return found;
}

void CublasLt::failWithout(const MatmulShape &shape) const {
  fail("cuBLASLt {} has no algorithm for {} in a workspace of {} bytes; compile with --target cpu",
       libraryVersion, shape.key(), shape.workspaceBytes);
}

/// The table's, else the first that the library proposes: never one that a run's timings chose.
std::optional<cublasLtMatmulAlgo_t> CublasLt::algorithmFor(const Descriptors &d, const MatmulShape &shape,
                                                           bool isPadded) const {
  const std::string key = keyOf(shape);
  if (const auto known = chosen.find({key, isPadded}); known != chosen.end())
    return known->second;
  std::optional<cublasLtMatmulAlgo_t> algorithm;
  if (const AlgorithmTable::Entry *stored = table.find(key)) {
    std::memcpy(&algorithm.emplace(), stored->algorithm.data(), sizeof(cublasLtMatmulAlgo_t));
    checkStored(d, shape, *algorithm, stored->source, key);
    ++sources[stored->source];
  } else if (const auto found = proposals(d, shape, 1); !found.empty()) {
    ++sources["cuBLASLt's first proposal"];
    algorithm = found.front().algo;
  } else if (shape.epilogue != Epilogue::None) {
    ++sources["none with an epilogue, which runs apart"];
  } else if (shape.bias) {
    ++sources["none with a bias, which is added apart"];
  }
  return chosen[{key, isPadded}] = algorithm;
}

void CublasLt::checkStored(const Descriptors &d, const MatmulShape &shape,
                           const cublasLtMatmulAlgo_t &algorithm, const std::string &source,
                           const std::string &key) const {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = checkAlgorithm(handle, d.operation, d.b, d.a, d.y, d.y, &algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > shape.workspaceBytes)
    fail("{}: the algorithm of '{}' is none that cuBLASLt runs here ({}, workspace {} of {} bytes); write "
         "the table again "
         "with kedge-bench tune",
         source, key, statusString(status), result.workspaceSize, shape.workspaceBytes);
}

std::unique_ptr<LibraryLaunch> CublasLt::makeLaunch(const LibraryCall &call, const LaunchPointers &pointers) {
  MatmulCalls calls = matmulCallsOf(call);
  if (pointers.workspaceBytes < calls.shape.workspaceBytes)
    fail("the program is damaged: {} has a workspace of {} bytes, expected {}", call.name,
         pointers.workspaceBytes, calls.shape.workspaceBytes);
  std::optional<PaddedMatmul> padded = paddedOf(calls);
  return std::make_unique<MatmulLaunch>(*this, gpu, std::move(calls), pointers, padded);
}

std::optional<PaddedMatmul> CublasLt::paddedOf(const MatmulCalls &calls) const {
  std::optional<PaddedMatmul> padded = paddedMatmulOf(calls);
  const std::string key = keyOf(calls.shape);
  const AlgorithmTable::Entry *stored = table.find(key);
  if (!stored)
    return padded && padded->isFaster(calls.shape) ? padded : std::nullopt;
  if (stored->isPadded && !padded)
    fail(
        "{}: the algorithm of '{}' is for a padded product, and this product has no padding; write the table "
        "again with kedge-bench tune",
        stored->source, key);
  return stored->isPadded ? padded : std::nullopt;
}

/// GELU's derivative is faster in the program's kernels unless the table has an algorithm with it, which
/// tune() found to be: with it and the sums in the epilogue an H100 takes 251 us for a product of
/// 8192x3072x768, and 128 for the product and the kernels after it (cuBLASLt 13.1;
/// docs/rationale/gpu-kernels.md, Epilogues of products).
bool CublasLt::runsApart(const MatmulShape &shape) const {
  return wishedApart().value_or(hasGeluGradient(shape) && !tunesEpilogue && !table.find(keyOf(shape)));
}

MatmulCalls CublasLt::takenCalls(MatmulCalls calls, const std::optional<PaddedMatmul> &padded) const {
  const MatmulShape &shape = calls.shape;
  const auto isTaken = [&] {
    return algorithmFor(Descriptors(*this, padded ? padded->shape : shape), shape, padded.has_value())
        .has_value();
  };
  if (shape.epilogue != Epilogue::None && (runsApart(shape) || !isTaken()))
    calls = withEpilogueApart(std::move(calls));
  if (!shape.bias || shape.isEmpty() || isTaken())
    return calls;
  return withBiasApart(std::move(calls));
}

// MatmulLaunch and tuning use the descriptors, which are this file's own.

struct MatmulLaunch::State {
  explicit State(CublasLt &library, const MatmulShape &shape) : descriptors(library, shape) {}
  CublasLt::Descriptors descriptors;
  cublasLtMatmulAlgo_t algorithm{};
};

MatmulLaunch::MatmulLaunch(CublasLt &library, Gpu &gpu, MatmulCalls made, const LaunchPointers &pointers,
                           std::optional<PaddedMatmul> wide)
    : library(library), gpu(gpu), calls(library.takenCalls(std::move(made), wide)), pointers(pointers),
      padded(calls.broadcasts ? std::nullopt : wide) {
  const MatmulShape &shape = calls.shape;
  if (shape.isEmpty())
    return;
  state = std::make_unique<State>(library, multiplied());
  const auto place = [&](cublasLtMatmulDescAttributes_t attribute, int operand) {
    state->descriptors.set(attribute, reinterpret_cast<const void *>(pointers.operand(operand)));
  };
  if (shape.bias)
    place(CUBLASLT_MATMUL_DESC_BIAS_POINTER, calls.addend);
  if (shape.hasSums())
    place(CUBLASLT_MATMUL_DESC_BIAS_POINTER, calls.sums);
  if (shape.hasAuxiliary())
    place(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, calls.auxiliary);
  if (shape.isScaled()) {
    // The library's A is our B. It multiplies sums by both numbers.
    state->descriptors.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                           reinterpret_cast<const void *>(pointers.inputs[3]));
    state->descriptors.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                           reinterpret_cast<const void *>(pointers.inputs[2]));
  }
  const auto algorithm = library.algorithmFor(state->descriptors, shape, padded.has_value());
  if (!algorithm)
    library.failWithout(shape);
  state->algorithm = *algorithm;
}

MatmulLaunch::~MatmulLaunch() = default;

void MatmulLaunch::multiply(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, CUdeviceptr y) {
  const MatmulShape &shape = multiplied();
  const auto at = [](CUdeviceptr place) { return reinterpret_cast<void *>(place); };
  // With beta = 0 the library does not read C, whatever is there.
  const double wideBeta = calls.micro >= 0 && library.isFirstMicro ? 0 : shape.beta;
  const float alpha = static_cast<float>(shape.alpha), beta = static_cast<float>(wideBeta);
  const bool wide = shape.type == DType::F64;
  const void *alphaPlace = wide ? static_cast<const void *>(&shape.alpha) : &alpha;
  const void *betaPlace = wide ? static_cast<const void *>(&wideBeta) : &beta;
  const auto &d = state->descriptors;
  library.check(library.matmul(library.handle, d.operation, alphaPlace, at(b), d.b, at(a), d.a, betaPlace,
                               at(c), d.y, at(y), d.y, &state->algorithm,
                               reinterpret_cast<void *>(pointers.workspace),
                               static_cast<size_t>(shape.workspaceBytes), gpu.stream()),
                "cuBLASLt does not run " + shape.key());
}

std::string CublasLt::keyOf(const LibraryCall &call) const { return keyOf(matmulCallsOf(call).shape); }

/// Of GELU's derivative both ways: the product alone and a kernel that reads two matrices and writes one, at
/// the rate of a copy of as many bytes; and the epilogue.
CublasLt::Tuned CublasLt::tune(const LibraryCall &call) {
  const MatmulCalls whole = matmulCallsOf(call);
  const Tuned taken = tune(call, takenCalls(whole, std::nullopt));
  if (!hasGeluGradient(whole.shape) || wishedApart() || whole.shape.isEmpty())
    return taken;
  if (!algorithmFor(Descriptors(*this, whole.shape), whole.shape, false))
    return taken;
  tunesEpilogue = true;
  const Tuned fused = tune(call, whole);
  tunesEpilogue = false;
  if (fused.algorithm.empty())
    return taken;
  TuneOperands operands(gpu, call, 0);
  const uint64_t bytes =
      static_cast<uint64_t>(whole.shape.m * whole.shape.n) * dtypeSize(whole.shape.type) * 3 / 2;
  const double kernel =
      copyMicroseconds(gpu, operands.allocate(bytes, "a copy to tune with"),
                       operands.allocate(bytes, "a copy to tune with"), static_cast<size_t>(bytes));
  return fused.microseconds < taken.microseconds + kernel ? fused : taken;
}

CublasLt::Tuned CublasLt::tune(const LibraryCall &call, const MatmulCalls &calls) {
  const MatmulShape &shape = calls.shape;
  Tuned best;
  best.key = keyOf(shape);
  if (shape.isEmpty())
    return best;
  TuneOperands operands(gpu, call, shape.workspaceBytes);
  MatmulLaunch plain(*this, gpu, calls, operands.pointers());
  tune(plain, best);
  if (const std::optional<PaddedMatmul> padded = paddedMatmulOf(calls)) {
    MatmulLaunch launch(*this, gpu, calls, operands.pointers(), padded);
    if (padded->bytes != 0)
      launch.setWorkspace(operands.allocate(padded->bytes, "wide copies to tune with"), padded->bytes);
    tune(launch, best);
  }
  return best;
}

void CublasLt::tune(MatmulLaunch &launch, Tuned &best) const {
  constexpr int kProposals = 16;
  for (const auto &proposal : proposals(launch.state->descriptors, launch.multiplied(), kProposals)) {
    launch.state->algorithm = proposal.algo;
    const std::optional<double> microseconds = launch.measure();
    if (!microseconds) {
      ++best.refused;
      continue;
    }
    if (best.algorithm.empty())
      best.firstMicroseconds = *microseconds;
    if (!best.algorithm.empty() && *microseconds >= best.microseconds)
      continue;
    best.microseconds = *microseconds;
    best.isPadded = launch.padded.has_value();
    const auto *bytes = reinterpret_cast<const uint8_t *>(&proposal.algo);
    best.algorithm.assign(bytes, bytes + sizeof(proposal.algo));
  }
}

} // namespace kedge::rt::cuda
