// train.leading_basis: the directions that GaLore projects gradients to.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/linalg/Orthogonal.h"
#include "runtime/cpu/linalg/Reflections.h"
#include <cmath>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

class LeadingBasis final : public LibraryKernel {
public:
  LeadingBasis(const TensorDesc &matrix, int64_t axis, int64_t rank, int64_t frequency, int threads)
      : n_(matrix.shape[axis]), others_(matrix.shape[1 - axis]), isOfRows_(axis == 0), rank_(rank),
        frequency_(frequency), threads_(threads) {}

  /// Two matrices, some rows in f64, two vectors.
  size_t workspaceBytes() const override {
    return sizeof(double) * (static_cast<size_t>(2 * n_ * n_ + kRows * n_ + 2 * n_ + kAlignNumbers) +
                             orthogonalScratch(n_, threads_)) +
           productsBytes();
  }

  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    const auto *matrix = static_cast<const float *>(inputs[0]),
               *basis = static_cast<const float *>(inputs[1]);
    const auto update = std::llround(*static_cast<const float *>(inputs[2]));
    auto *made = static_cast<float *>(outputs[0]);
    if ((update - 1) % frequency_ != 0) {
      std::copy(basis, basis + n_ * rank_, made);
      return;
    }
    auto *products = static_cast<double *>(workspace);
    double *vectors = products + n_ * n_, *rows = vectors + n_ * n_, *values = rows + kRows * n_,
           *scratch = values + 2 * n_;
    multiplyByItself(matrix, products, rows, alignedNumbers(scratch + orthogonalScratch(n_, threads_)));
    symmetricEigenvectors(n_, products, values, vectors, scratch, threads_);
    auto *places = reinterpret_cast<int64_t *>(values + n_);
    sortByFalling(n_, values, places);
    for (int64_t k = 0; k < rank_; ++k)
      writeColumn(vectors + places[k] * n_, made + k);
  }

private:
  static constexpr int64_t kRows = 128; ///< that are added at a time

  size_t productsBytes() const {
    return std::max(
        gemmWorkspaceBytes<double>(n_, n_, std::min(kRows, others_), threads_, false),
        gemmWorkspaceBytes<double>(n_, n_, std::max<int64_t>(1, others_ % kRows), threads_, false));
  }

  /// Sums over the other dim of products of the axis' numbers.
  void multiplyByItself(const float *matrix, double *products, double *rows, double *scratch) const {
    std::fill(products, products + n_ * n_, 0.0);
    for (int64_t first = 0; first < others_; first += kRows) {
      const int64_t count = std::min(kRows, others_ - first);
      for (int64_t row = 0; row < count; ++row)
        for (int64_t i = 0; i < n_; ++i)
          rows[row * n_ + i] = isOfRows_ ? matrix[i * others_ + first + row] : matrix[(first + row) * n_ + i];
      const Strided<double> held{rows, n_, 1};
      const double *bias = nullptr;
      const GemmFinish<double> *finish = nullptr;
      gemm<double>(planGemm<double>(n_, n_, count, threads_), held.transposed(), held, products, n_,
                   GemmStart::Keep, bias, finish, scratch);
    }
  }

  /// A singular vector may have either sign.
  void writeColumn(const double *vector, float *column) const {
    const double *largest =
        std::max_element(vector, vector + n_, [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double sign = *largest < 0 ? -1 : 1;
    for (int64_t i = 0; i < n_; ++i)
      column[i * rank_] = static_cast<float>(sign * vector[i]);
  }

  const int64_t n_, others_;
  const bool isOfRows_;
  const int64_t rank_, frequency_;
  const int threads_;
};

} // namespace

KEDGE_REGISTER(LeadingBasis) {
  registerKernel("train.leading_basis",
                 [](const LibraryCall &call, int threads) -> std::unique_ptr<LibraryKernel> {
                   expectCounts(call, 3, 3, 1, 1);
                   const TensorDesc &matrix = call.inputs[0], &basis = call.inputs[1];
                   const int64_t frequency = intAttr(call, "frequency", 0), axis = intAttr(call, "axis", 0);
                   if (matrix.type != DType::F32 || matrix.shape.size() != 2 || basis.shape.size() != 2 ||
                       axis < 0 || axis > 1 || call.inputs[2].type != DType::F32 || frequency < 1)
                     failCall(call, "a matrix of f32, a basis, the number of the update, an axis and a "
                                    "frequency from 1 are expected");
                   expectShape(call, basis, {matrix.shape[axis], basis.shape[1]}, "the basis");
                   expectShape(call, call.outputs[0], basis.shape, "the new basis");
                   return std::make_unique<LeadingBasis>(matrix, axis, basis.shape[1], frequency, threads);
                 });
}

} // namespace kedge::rt::cpu
