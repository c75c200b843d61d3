// What of library calls is known without a GPU: how products become calls of cuBLASLt, which convolutions cuDNN
// takes, and the workspaces that the memory plan gives them. Knows no CUDA header.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryKernel.h"
#include "runtime/program/Program.h"
#include <array>
#include <set>

namespace kedge::rt::cuda {

/// One kind of call of cublasLtMatmul, in the row-major view of the model: Y[m, n] = alpha A B + beta C.
struct MatmulShape {
  DType type = DType::F32; ///< of the result and of C
  DType typeA = DType::F32, typeB = DType::F32; ///< the result's, or 8-bit floats with a scale each
  int64_t m = 0, n = 0, k = 0;
  bool transA = false, transB = false; ///< A lies as [k, m], B as [n, k]
  int64_t batch = 1, strideA = 0, strideB = 0; ///< elements from one matrix to the next; Y: m * n
  double alpha = 1, beta = 0;
  bool bias = false;        ///< a vector of n is added to every row
  int64_t alignment = 256;  ///< of every operand, bytes
  uint64_t workspaceBytes = 0;

  bool isScaled() const { return typeA != type; }
  /// Nothing is multiplied.
  bool isEmpty() const { return m == 0 || n == 0 || k == 0 || batch == 0; }
  /// The algorithm table's key, without library and device: all that may decide an algorithm.
  std::string key() const;
};

/// A product as calls of one kind: call i starts at these elements of A and B, and at i * batch * m * n of Y.
struct MatmulCalls {
  MatmulShape shape;
  std::vector<int64_t> offsetsA, offsetsB;
  int addend = -1; ///< index of C among the inputs; -1: none
  /// C is neither a bias nor whole: it is spread over Y first (strides of 0: broadcast), and `beta` adds it there.
  bool spreads = false;
  int64_t rowStride = 0, columnStride = 0;
};

/// Throws rt::Error for a type that cuBLASLt multiplies not as the CPU does.
MatmulCalls matmulCallsOf(const LibraryCall &call);
/// The same with the bias spread over Y first, for a product that the library has no algorithm with that epilogue for.
MatmulCalls withBiasApart(MatmulCalls calls);

/// A convolution or a gradient of one, as cuDNN has them.
struct ConvolutionCall {
  using Kind = cpu::ConvRoles::Kind;
  Kind kind = Kind::Forward;
  DType type = DType::F32;
  int dims = 2; ///< spatial; at least 2
  std::array<int, 5> x{}, w{}, y{}; ///< shapes of image, filter and result in the roles of a Conv, `dims` + 2 entries
  std::array<int, 3> pad{}, stride{}, dilation{};
  int groups = 1;
  /// Operands of the call: positions among inputs ++ outputs.
  int image = -1, filter = -1, result = -1, bias = -1;
};

/// Whether cuDNN has this convolution: f32 or f64, and the pads at the two ends of each dimension are equal. Generated
/// kernels take the others.
bool cudnnTakes(const LibraryCall &call);
/// Throws rt::Error for a convolution that cuDNN does not take.
ConvolutionCall convolutionCallOf(const LibraryCall &call);

/// MatmulShape::key() of the products of a program that a library computes; with `apart` those of withBiasApart.
std::set<std::string> productKeys(const Program &program, bool apart = false);

bool isProduct(const std::string &library);
bool isConvolution(const std::string &library);
/// Collectives, and what a rank takes of its own.
bool isAmongRanks(const std::string &library);

/// Scratch bytes that the memory plan gives a runtime call on `arch`; depends on the call only. Throws rt::Error when
/// the target has no such call.
uint64_t plannedWorkspaceBytes(const LibraryCall &call);

} // namespace kedge::rt::cuda
