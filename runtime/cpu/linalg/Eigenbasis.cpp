// train.eigenbasis: the basis of SOAP, made once and refreshed now and then.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
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

  /// Two matrices and four vectors.
  size_t workspaceBytes() const override { return sizeof(double) * static_cast<size_t>(2 * n_ * n_ + 4 * n_); }

  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    const auto *matrix = static_cast<const float *>(inputs[0]), *basis = static_cast<const float *>(inputs[1]);
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
    double *copy = workspace, *vectors = copy + n_ * n_, *values = vectors + n_ * n_, *scratch = values + n_;
    std::copy(matrix, matrix + n_ * n_, copy);
    symmetricEigenvectors(n_, copy, values, vectors, scratch, threads_);
    auto *places = reinterpret_cast<int64_t *>(scratch);
    sortByFalling(values, places);
    writeColumns(vectors, places, made);
  }

  /// Rows of `product` are the matrix times the columns of the basis, in their new order.
  void refresh(const float *matrix, const float *basis, float *made, int64_t *order, double *workspace) const {
    double *product = workspace, *columns = product + n_ * n_, *values = columns + n_ * n_, *scratch = values + n_;
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j)
        columns[j * n_ + i] = basis[i * n_ + j];
    parallelFor(threads_, n_, 1, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        multiply(matrix, columns + k * n_, product + k * n_);
        values[k] = std::inner_product(columns + k * n_, columns + (k + 1) * n_, product + k * n_, 0.0);
      }
    });
    sortByFalling(values, order);
    for (int64_t k = 0; k < n_; ++k)
      std::copy(product + order[k] * n_, product + (order[k] + 1) * n_, columns + k * n_);
    orthogonalBasis(n_, columns, product, scratch, threads_);
    writeColumns(product, nullptr, made);
  }

  void multiply(const float *matrix, const double *column, double *result) const {
    for (int64_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < n_; ++j)
        sum += static_cast<double>(matrix[i * n_ + j]) * column[j];
      result[i] = sum;
    }
  }

  /// Equal ones stay in their order, without memory of the sort's own.
  void sortByFalling(const double *values, int64_t *places) const {
    std::iota(places, places + n_, int64_t(0));
    std::sort(places, places + n_, [&](int64_t a, int64_t b) {
      return values[a] > values[b] || (!(values[b] > values[a]) && a < b);
    });
  }

  void writeColumns(const double *rows, const int64_t *places, float *made) const {
    for (int64_t k = 0; k < n_; ++k)
      for (int64_t i = 0; i < n_; ++i)
        made[i * n_ + k] = static_cast<float>(rows[(places ? places[k] : k) * n_ + i]);
  }

  const int64_t n_, frequency_;
  const int threads_;
};

} // namespace

void registerEigenbasis() {
  registerKernel("train.eigenbasis", [](const LibraryCall &call, int threads) -> std::unique_ptr<LibraryKernel> {
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
