// Eigenvectors of symmetric matrices, and orthogonal bases, in f64. Matrices are n x n, rows one behind the
// other. Results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kedge::rt::cpu {

/// Numbers of `scratch` for either of the two.
size_t orthogonalScratch(int64_t n, int threads);

/// The symmetric `matrix`, which is used up, is sum over k of values[k] v v' with v = row k of `vectors`, in
/// no order. Householder's reduction to three diagonals, then QR steps with Wilkinson's shifts.
void symmetricEigenvectors(int64_t n, double *matrix, double *values, double *vectors, double *scratch,
                           int threads);

/// Rows of `basis` become an orthogonal basis of which the first k span the first k rows of `rows`, which are
/// used up: the columns of Q in a QR decomposition by Householder's reflections.
void orthogonalBasis(int64_t n, double *rows, double *basis, double *scratch, int threads);

/// Places of values from the largest to the smallest; equal ones stay in their order.
void sortByFalling(int64_t n, const double *values, int64_t *places);

/// to = a b of n x n matrices. `scratch` as above.
void multiplySquares(int64_t n, const double *a, const double *b, double *to, double *scratch, int threads);

} // namespace kedge::rt::cpu
