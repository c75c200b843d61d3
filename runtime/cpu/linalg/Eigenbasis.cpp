// train.eigenbasis: the basis of SOAP, made once and refreshed now and then.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/linalg/BasisRows.h"
#include "runtime/cpu/linalg/Orthogonal.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

class Eigenbasis final : public LibraryKernel {
public:
  Eigenbasis(int64_t size, int64_t frequency, int threads)
      : n_(size), frequency_(frequency), threads_(threads) {}

  /// Three matrices and two vectors.
  size_t workspaceBytes() const override {
    return sizeof(double) * (static_cast<size_t>(3 * n_ * n_ + 2 * n_) + orthogonalScratch(n_, threads_));
  }

  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    const auto *matrix = static_cast<const float *>(inputs[0]),
               *basis = static_cast<const float *>(inputs[1]);
    const auto update = std::llround(*static_cast<const float *>(inputs[2]));
    auto *made = static_cast<float *>(outputs[0]);
    auto *order = static_cast<int64_t *>(outputs[1]);
    std::iota(order, order + n_, int64_t(0));
    if (update <= 1)
      return begin(matrix, made, static_cast<double *>(workspace));
    if ((update - 1) % frequency_ == 0)
      return refresh(matrix, basis, made, order, static_cast<double *>(workspace));
    std::copy(basis, basis + n_ * n_, made);
  }

private:
  void begin(const float *matrix, float *made, double *workspace) const {
    double *copy = workspace, *vectors = copy + n_ * n_, *values = vectors + 2 * n_ * n_,
           *scratch = values + 2 * n_;
    auto *places = reinterpret_cast<int64_t *>(values + n_);
    std::copy(matrix, matrix + n_ * n_, copy);
    symmetricEigenvectors(n_, copy, values, vectors, scratch, threads_);
    sortByFalling(n_, values, places);
    writeColumns(vectors, places, made);
  }

  /// Rows of `product` are the matrix times the columns of the basis, then in their new order.
  void refresh(const float *matrix, const float *basis, float *made, int64_t *order,
               double *workspace) const {
    double *product = workspace, *columns = product + n_ * n_, *wide = columns + n_ * n_,
           *values = wide + n_ * n_, *scratch = values + 2 * n_;
    std::copy(matrix, matrix + n_ * n_, wide);
    transpose(basis, columns);
    multiplySquares(n_, columns, wide, product, scratch, threads_);
    for (int64_t k = 0; k < n_; ++k)
      values[k] = basisRows().dot(columns + k * n_, product + k * n_, n_);
    sortByFalling(n_, values, order);
    for (int64_t k = 0; k < n_; ++k)
      std::copy(product + order[k] * n_, product + (order[k] + 1) * n_, columns + k * n_);
    orthogonalBasis(n_, columns, product, scratch, threads_);
    writeColumns(product, nullptr, made);
  }

  static constexpr int64_t kPatch = 32; ///< a side of what stays in the L1

  void transpose(const float *from, double *to) const {
    for (int64_t i0 = 0; i0 < n_; i0 += kPatch)
      for (int64_t j0 = 0; j0 < n_; j0 += kPatch)
        for (int64_t i = i0; i < std::min(n_, i0 + kPatch); ++i)
          for (int64_t j = j0; j < std::min(n_, j0 + kPatch); ++j)
            to[j * n_ + i] = from[i * n_ + j];
  }

  void writeColumns(const double *rows, const int64_t *places, float *made) const {
    for (int64_t i0 = 0; i0 < n_; i0 += kPatch)
      for (int64_t k = 0; k < n_; ++k) {
        const double *row = rows + (places ? places[k] : k) * n_;
        for (int64_t i = i0; i < std::min(n_, i0 + kPatch); ++i)
          made[i * n_ + k] = static_cast<float>(row[i]);
      }
  }

  const int64_t n_, frequency_;
  const int threads_;
};

} // namespace

KEDGE_REGISTER(Eigenbasis) {
  registerKernel(
      "train.eigenbasis", [](const LibraryCall &call, int threads) -> std::unique_ptr<LibraryKernel> {
        expectCounts(call, 3, 3, 2, 2);
        const TensorDesc &matrix = call.inputs[0];
        const int64_t frequency = intAttr(call, "frequency", 0);
        if (matrix.type != DType::F32 || matrix.shape.size() != 2 || matrix.shape[0] != matrix.shape[1] ||
            call.inputs[2].type != DType::F32 || frequency < 1)
          failCall(call, "a square of f32, the number of the update and a frequency from 1 are expected");
        expectShape(call, call.inputs[1], matrix.shape, "the basis");
        expectShape(call, call.outputs[0], matrix.shape, "the new basis");
        expectShape(call, call.outputs[1], {matrix.shape[0]}, "the order");
        return std::make_unique<Eigenbasis>(matrix.shape[0], frequency, threads);
      });
}

} // namespace kedge::rt::cpu
