// Eigenvectors of symmetric matrices, and orthogonal bases, in f64. Matrices are n x n, rows one behind the
// other. Results do not depend on the number of threads.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// The symmetric `matrix`, which is used up, is sum over k of values[k] v v' with v = row k of `vectors`, in no
/// order. `scratch`: 3 n numbers. Householder's reduction to three diagonals, then QR steps with Wilkinson's
/// shifts.
void symmetricEigenvectors(int64_t n, double *matrix, double *values, double *vectors, double *scratch,
                           int threads);

/// Rows of `basis` become an orthogonal basis of which the first k span the first k rows of `rows`, which are
/// used up: the columns of Q in a QR decomposition by Householder's reflections. `scratch`: n numbers.
void orthogonalBasis(int64_t n, double *rows, double *basis, double *scratch, int threads);

} // namespace kedge::rt::cpu
