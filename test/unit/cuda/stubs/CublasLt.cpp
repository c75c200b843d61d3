// libcublasLt.so as tests have it: it multiplies on the host, from the descriptors alone, so that a wrong
// layout, stride or transposition gives wrong numbers.
//   KEDGE_STUB_NO_EPILOGUE=N proposes nothing for products with an epilogue other than a bias; with the
//   status N, if N is not 1 KEDGE_STUB_NO_BIAS=1     ...and nothing for those with a bias
//   KEDGE_STUB_REFUSES=N     refuses to run what it proposed as the N-th; KEDGE_STUB_REFUSES_ODD=1: 16-bit
//   products whose columns or sums fill no whole 16 bytes
#include "runtime/format/Float16.h"
#include "runtime/format/Float8.h"
#include "test/unit/cuda/stubs/Stub.h"
#include <algorithm>
#include <cmath>
#include <cublasLt.h>
#include <initializer_list>
#include <vector>

using namespace kedge::stub;

namespace {

struct Operation {
  int32_t first = CUBLAS_OP_N, second = CUBLAS_OP_N;
  int32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr; ///< read, or written with sums
  void *auxiliary = nullptr;
  int64_t auxiliaryLead = 0;
  const float *scaleA = nullptr, *scaleB = nullptr;
  bool wide = false;

  bool is(std::initializer_list<cublasLtEpilogue_t> list) const {
    return std::find(list.begin(), list.end(), epilogue) != list.end();
  }
  bool addsBias() const {
    return is({CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS});
  }
  bool isGelu() const {
    return is({CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX,
               CUBLASLT_EPILOGUE_GELU_AUX_BIAS});
  }
  bool keepsInput() const { return is({CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}); }
  bool isGeluGradient() const { return is({CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD}); }
  bool sums() const {
    return is({CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB});
  }
};
struct Layout {
  cudaDataType type;
  int64_t rows, columns, lead;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Preference {
  size_t workspace = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

template <typename T> T as(const void *value) {
  T result;
  std::memcpy(&result, value, sizeof(T));
  return result;
}

Operation &of(cublasLtMatmulDesc_t handle) { return *reinterpret_cast<Operation *>(handle); }
const Layout &of(cublasLtMatrixLayout_t handle) { return *reinterpret_cast<const Layout *>(handle); }

/// Column-major, as the library has it.
template <typename T>
T element(const Layout &layout, const T *base, int32_t op, int64_t row, int64_t column) {
  return op == CUBLAS_OP_N ? base[row + column * layout.lead] : base[column + row * layout.lead];
}

template <typename S> S geluPower(S x) { return S(std::sqrt(2 / M_PI)) * (x + S(0.044715) * x * x * x); }
template <typename S> S gelu(S x) { return S(0.5) * x * (1 + std::tanh(geluPower(x))); }
template <typename S> S geluSlope(S x) {
  const S t = std::tanh(geluPower(x));
  return S(0.5) * (1 + t) + S(0.5) * x * (1 - t * t) * S(std::sqrt(2 / M_PI)) * (1 + S(3 * 0.044715) * x * x);
}

/// A, B: of the operands; T: of C and D; S: of the sums.
template <typename A, typename B, typename T, typename S> struct Product {
  Operation op;
  S alpha, beta;
  Layout a, b, c;

  void run(const A *aBase, const B *bBase, const T *cBase, T *d) const {
    const int64_t inner = op.first == CUBLAS_OP_N ? a.columns : a.rows;
    T *bias = static_cast<T *>(op.bias);
    std::vector<S> sums(static_cast<size_t>(op.sums() ? std::max(c.rows, c.columns) : 0));
    const S factor = op.scaleA ? alpha * (*op.scaleA * *op.scaleB) : alpha;
    for (int64_t column = 0; column < c.columns; ++column)
      for (int64_t row = 0; row < c.rows; ++row) {
        S sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += static_cast<S>(element(a, aBase, op.first, row, k)) *
                 static_cast<S>(element(b, bBase, op.second, k, column));
        const int64_t at = row + column * c.lead;
        S value = factor * sum + (beta != 0 ? beta * static_cast<S>(cBase[at]) : S(0));
        if (op.addsBias())
          value += static_cast<S>(bias[row]);
        if (op.isGelu() || op.isGeluGradient())
          value = activated(value, row, column);
        d[at] = value;
        if (op.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD)
          sums[static_cast<size_t>(row)] += value;
      }
    const auto addOperands = [&](int64_t count, auto operand) {
      for (int64_t i = 0; i < count; ++i)
        for (int64_t k = 0; k < inner; ++k)
          sums[static_cast<size_t>(i)] += static_cast<S>(operand(i, k));
    };
    if (op.epilogue == CUBLASLT_EPILOGUE_BGRADA)
      addOperands(c.rows, [&](int64_t row, int64_t k) { return element(a, aBase, op.first, row, k); });
    if (op.epilogue == CUBLASLT_EPILOGUE_BGRADB)
      addOperands(c.columns,
                  [&](int64_t column, int64_t k) { return element(b, bBase, op.second, k, column); });
    for (int64_t i = 0, count = op.epilogue == CUBLASLT_EPILOGUE_BGRADB ? c.columns : c.rows;
         op.sums() && i < count; ++i)
      bias[i] = sums[static_cast<size_t>(i)];
  }

  /// From the sums, before they are rounded.
  S activated(S value, int64_t row, int64_t column) const {
    T *kept = static_cast<T *>(op.auxiliary) + row + column * op.auxiliaryLead;
    if (op.isGeluGradient())
      return value * geluSlope(static_cast<S>(*kept));
    if (op.keepsInput())
      *kept = value;
    return gelu(value);
  }
};

template <typename A, typename B, typename T, typename S>
void multiply(const Operation &op, const void *alpha, const void *beta, const Layout &a, const Layout &b,
              const Layout &c, const void *aBase, const void *bBase, const void *cBase, void *d,
              cudaStream_t stream) {
  const Product<A, B, T, S> product{op, as<S>(alpha), as<S>(beta), a, b, c};
  enqueue(
      [=] {
        for (int64_t i = 0; i < product.c.batch; ++i)
          product.run(static_cast<const A *>(aBase) + i * product.a.stride,
                      static_cast<const B *>(bBase) + i * product.b.stride,
                      static_cast<const T *>(cBase) + i * product.c.stride,
                      static_cast<T *>(d) + i * product.c.stride);
      },
      stream);
}

/// The model's n or k, which an H100 is slow with (PaddedMatmul.h).
bool isOdd(const Layout &a, const Layout &c) {
  const int64_t k = c.rows == 0 ? 0 : a.rows * a.columns / c.rows;
  return c.rows % 8 != 0 || k % 8 != 0;
}

bool refusesOdd(const Layout &a, const Layout &c) {
  return setting("KEDGE_STUB_REFUSES_ODD", 0) != 0 && (a.type == CUDA_R_16BF || a.type == CUDA_R_16F) &&
         isOdd(a, c);
}

/// The header's rules: one product; GELU's input begins at multiples of 16 bytes, and its columns at
/// multiples of 8 elements; vectors are there. Doubles and 8-bit floats have no more than a bias here.
bool takesEpilogue(const Operation &op, const Layout &a, const Layout &d) {
  if (op.epilogue == CUBLASLT_EPILOGUE_DEFAULT)
    return true;
  if (op.wide || ((op.addsBias() || op.sums()) && !op.bias))
    return false;
  if (op.epilogue == CUBLASLT_EPILOGUE_BIAS)
    return true;
  if (!op.keepsInput() && !op.isGeluGradient())
    return (op.isGelu() || op.sums()) && d.batch == 1 && a.type == d.type;
  const bool aligned = reinterpret_cast<uintptr_t>(op.auxiliary) % 16 == 0 && op.auxiliaryLead % 8 == 0;
  return op.auxiliary && aligned && op.auxiliaryLead >= d.rows && d.batch == 1 && a.type == d.type;
}

bool isFloat8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

/// What the library asks of 8-bit floats: the summed dim first in both, a scale each, sizes in steps of 16,
/// and not twice the type with few digits.
bool takesFloat8(const Operation &op, const Layout &a, const Layout &b, const Layout &d) {
  bool inSteps = true;
  for (int64_t size : {a.rows, a.columns, b.rows, b.columns, a.lead, b.lead})
    inSteps &= size % 16 == 0;
  const bool hasSum = d.type == CUDA_R_16BF || d.type == CUDA_R_32F;
  return inSteps && isFloat8(b.type) && hasSum && op.first == CUBLAS_OP_T && op.second == CUBLAS_OP_N &&
         op.scaleA && op.scaleB && !(a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2);
}

} // namespace

extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  record("cublasLtCreate");
  *handle = reinterpret_cast<cublasLtHandle_t>(handle);
  return static_cast<cublasStatus_t>(failure("cublasLtCreate"));
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion() { return static_cast<size_t>(setting("KEDGE_STUB_CUBLAS", 130100)); }
size_t cublasLtGetCudartVersion() { return static_cast<size_t>(setting("KEDGE_STUB_CUBLAS_CUDA", 13000)); }
const char *cublasLtGetStatusString(cublasStatus_t) { return "a status that a test asked for"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if ((compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) &&
      (compute != CUBLAS_COMPUTE_64F || scale != CUDA_R_64F))
    return CUBLAS_STATUS_NOT_SUPPORTED; // TF32 and the like
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation);
  of(*desc).wide = compute == CUBLAS_COMPUTE_64F;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete &of(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t bytes) {
  Operation &op = of(desc);
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
    op.bias = as<void *>(value);
  else if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER)
    op.auxiliary = as<void *>(value);
  else if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD && bytes == sizeof(int64_t))
    op.auxiliaryLead = as<int64_t>(value);
  else if (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER)
    op.scaleA = as<const float *>(value);
  else if (attribute == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
    op.scaleB = as<const float *>(value);
  else if (bytes != sizeof(int32_t))
    return CUBLAS_STATUS_INVALID_VALUE;
  else if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    op.first = as<int32_t>(value);
  else if (attribute == CUBLASLT_MATMUL_DESC_TRANSB)
    op.second = as<int32_t>(value);
  else if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE)
    op.epilogue = as<int32_t>(value);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t lead) {
  if (lead < static_cast<int64_t>(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), lead});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &of(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t) {
  Layout &made = const_cast<Layout &>(of(layout));
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    made.batch = as<int32_t>(value);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    made.stride = as<int64_t>(value);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference *>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    reinterpret_cast<Preference *>(preference)->workspace = as<size_t>(value);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    reinterpret_cast<Preference *>(preference)->reductions = as<uint32_t>(value);
  return CUBLAS_STATUS_SUCCESS;
}
/// What was proposed, or might be.
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
                                       cublasLtMatmulHeuristicResult_t *result) {
  *result = {};
  if (refusesOdd(of(a), of(d)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return algorithm->data[0] >= 1 && algorithm->data[0] <= 16 ? CUBLAS_STATUS_SUCCESS
                                                             : CUBLAS_STATUS_NOT_SUPPORTED;
}
/// Proposals are numbered from 1 in their first byte; none for epilogues that the library does not take, or
/// when KEDGE_STUB_PROPOSALS says so.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *count) {
  record("cublasLtMatmulAlgoGetHeuristic %lld x %lld workspace %zu wanted %d",
         static_cast<long long>(of(d).columns), static_cast<long long>(of(d).rows),
         reinterpret_cast<Preference *>(preference)->workspace, wanted);
  *count = static_cast<int>(std::min<int64_t>(wanted, setting("KEDGE_STUB_PROPOSALS", 3)));
  if (!takesEpilogue(of(desc), of(a), of(d)))
    *count = 0;
  const int64_t refused = setting("KEDGE_STUB_NO_EPILOGUE", 0);
  if (refused != 0 && !of(desc).is({CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS})) {
    *count = 0;
    if (refused != 1)
      return static_cast<cublasStatus_t>(refused);
  }
  const bool narrow = of(d).type == CUDA_R_16BF || of(d).type == CUDA_R_16F;
  if (narrow &&
      reinterpret_cast<Preference *>(preference)->reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
    *count = 0; // partial sums in 16 bits
  if (setting("KEDGE_STUB_NO_BIAS", 0) != 0 && of(desc).epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    *count = 0;
  for (int i = 0; i < *count; ++i) {
    results[i] = {};
    results[i].algo.data[0] = static_cast<uint64_t>(i + 1);
  }
  return static_cast<cublasStatus_t>(failure("cublasLtMatmulAlgoGetHeuristic"));
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
                              cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b,
                              const void *beta, const void *C, cublasLtMatrixLayout_t c, void *D,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *algo, void *,
                              size_t workspace, cudaStream_t stream) {
  static const uint64_t zero = 0;
  const cudaDataType type = of(c).type;
  const cudaDataType operands = of(a).type;
  const size_t bytes = operands == CUDA_R_64F ? 8 : operands == CUDA_R_32F ? 4 : isFloat8(operands) ? 1 : 2;
  const bool narrow = isFloat8(of(a).type);
  const bool widens = type == CUDA_R_32F && (operands == CUDA_R_16BF || operands == CUDA_R_16F);
  if (narrow
          ? !takesFloat8(of(desc), of(a), of(b), of(c))
          : (operands != type && !widens) || of(b).type != operands || of(desc).wide != (type == CUDA_R_64F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!takesEpilogue(of(desc), of(a), of(c)))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool ofZeros = std::memcmp(A, &zero, bytes) == 0 && std::memcmp(B, &zero, bytes) == 0;
  char epilogue[24] = "";
  if (!of(desc).is({CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS}))
    std::snprintf(epilogue, sizeof(epilogue), " epilogue %d", of(desc).epilogue);
  // Sums of earlier micro-batches: C lies where D does.
  const bool accumulates = C == D && (operands == CUDA_R_64F ? as<double>(beta) : as<float>(beta)) != 0;
  record("cublasLtMatmul %lld x %lld batch %d algorithm %llu workspace %zu%s%s%s",
         static_cast<long long>(of(c).columns), static_cast<long long>(of(c).rows), of(c).batch,
         static_cast<unsigned long long>(algo->data[0]), workspace, ofZeros ? " of zeros" : "", epilogue,
         accumulates ? " in place" : "");
  if (static_cast<int64_t>(algo->data[0]) == setting("KEDGE_STUB_REFUSES", 0) || refusesOdd(of(a), of(c)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto runAs = [&](auto left, auto right, auto element, auto sum) {
    multiply<decltype(left), decltype(right), decltype(element), decltype(sum)>(
        of(desc), alpha, beta, of(a), of(b), of(c), A, B, C, D, stream);
  };
  const auto run = [&](auto element, auto sum) { runAs(element, element, element, sum); };
  if (narrow) {
    const kedge::rt::Float8E4M3 precise{};
    const kedge::rt::Float8E5M2 broad{};
    const auto runTo = [&](auto result) {
      if (of(a).type == CUDA_R_8F_E5M2)
        runAs(broad, precise, result, float());
      else if (of(b).type == CUDA_R_8F_E5M2)
        runAs(precise, broad, result, float());
      else
        runAs(precise, precise, result, float());
    };
    if (type == CUDA_R_32F)
      runTo(float());
    else
      runTo(kedge::rt::BFloat16());
    return static_cast<cublasStatus_t>(failure("cublasLtMatmul"));
  }
  if (widens && operands == CUDA_R_16BF) {
    runAs(kedge::rt::BFloat16(), kedge::rt::BFloat16(), float(), float());
    return static_cast<cublasStatus_t>(failure("cublasLtMatmul"));
  }
  if (widens) {
    runAs(kedge::rt::Float16(), kedge::rt::Float16(), float(), float());
    return static_cast<cublasStatus_t>(failure("cublasLtMatmul"));
  }
  switch (type) {
  case CUDA_R_64F:
    run(double(), double());
    break;
  case CUDA_R_16BF:
    run(kedge::rt::BFloat16(), float());
    break;
  case CUDA_R_16F:
    run(kedge::rt::Float16(), float());
    break;
  default:
    run(float(), float());
  }
  return static_cast<cublasStatus_t>(failure("cublasLtMatmul"));
}
}
