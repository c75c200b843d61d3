// Bases that optimizers turn gradients into.
#ifndef KEDGE_TRAIN_BASIS_OPS
#define KEDGE_TRAIN_BASIS_OPS
include "kedge/Dialect/Train/TrainBase.td"

def Train_EigenbasisOp : Train_Op<"eigenbasis"> {
  let summary = "Eigenvectors of a symmetric matrix that changes slowly, refreshed now and then (SOAP)";
  let description = [{
    `matrix` and `basis` are f32 [n, n], a column of the basis an eigenvector; `update` is the number of the update, from 1. The first
    update takes all eigenvectors of the matrix, in the order of falling eigenvalues. Every `frequency` updates later the columns
    are sorted by falling q' M q (equal ones stay in their order), multiplied by the matrix once, and made orthogonal (QR). In all other
    updates the basis stays. `order` [n] are the numbers that the columns had before. Computed in f64; the signs of columns are
    not told. It has no gradient: what it gives is no part of a model.

    ```mlir
    %new, %order = train.eigenbasis %m, %q, %t {frequency = 10 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) -> (tensor<4x4xf32>, tensor<4xi64>)
    ```
  }];
  let arguments = (ins ONNX_Tensor:$matrix, ONNX_Tensor:$basis, Train_Scalar:$update, ConfinedAttr<I64Attr, [IntPositive]>:$frequency);
  let results = (outs ONNX_Tensor:$new_basis, ONNX_Tensor:$order);
}

def Train_LeadingBasisOp : Train_Op<"leading_basis"> {
  let summary = "The first singular vectors of a matrix, taken again now and then (GaLore)";
  let description = [{
    `matrix` is f32 [m, n], `basis` f32 [m, r] with axis 0, [n, r] with axis 1: a column is a left or a right singular vector, by falling
    singular value. `update` is the number of the update, from 1; where `frequency` divides update - 1 the new basis is of the
    matrix, in all others it stays. The element of a column with the largest magnitude, the first of equal ones, is not
    negative. Computed in f64 from the products of the matrix with itself along the axis. It has no gradient: what it gives is no part of a model.

    ```mlir
    %new = train.leading_basis %g, %p, %t {axis = 1 : i64, frequency = 200 : i64} : (tensor<8x6xf32>, tensor<6x2xf32>, tensor<f32>) -> tensor<6x2xf32>
    ```
  }];
  let arguments = (ins ONNX_Tensor:$matrix, ONNX_Tensor:$basis, Train_Scalar:$update, ConfinedAttr<I64Attr, [IntPositive]>:$frequency,
    I64Attr:$axis);
  let results = (outs ONNX_Tensor:$new_basis);
}
#endif
