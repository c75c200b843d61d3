// Facts of library calls that need no GPU: how products become calls of cuBLASLt, which convolutions
// cuDNN supports, and how much workspace the memory plan gives them. Includes no CUDA header.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/LibraryCall.h"
#include "runtime/program/Program.h"
#include <array>
#include <set>

namespace kedge::rt::calls {

/// What a call does to the sums beyond adding a bias, in the row-major view of the model
/// (train.fused_product).
enum class Epilogue : uint8_t {
  None,
  Gelu,         ///< Y = GELU(sums)
  GeluKept,     ///< ...and the sums are a second result
  GeluGrad,     ///< Y = sums * GELU'(a third input)
  GeluGradSums, ///< ...and the sum of Y's rows is a second result
  SumsOfA,      ///< the sum of A's rows is a second result
  SumsOfB
};

/// One kind of call of cublasLtMatmul, in the row-major view of the model: Y[m, n] = alpha A B + beta C.
struct MatmulShape {
  DType type = DType::F32; ///< type of Y and C
  DType typeA = DType::F32,
        typeB =
            DType::F32; ///< the type of Y, 16-bit floats where Y is f32, or 8-bit floats with one scale each
  int64_t m = 0, n = 0, k = 0;
  bool transA = false, transB = false; ///< A is stored as [k, m], B as [n, k]
  int64_t rowA = 0, rowB = 0,
          rowY = 0; ///< distance in elements from one row to the next; larger than a row if rows are padded
  int64_t batch = 1, strideA = 0,
          strideB = 0; ///< distance in elements from one matrix to the next; for Y it is m * n
  double alpha = 1, beta = 0;
  bool bias = false; ///< add a vector of n elements to every row
  Epilogue epilogue = Epilogue::None;
  int64_t alignment = 256; ///< of every operand, bytes
  uint64_t workspaceBytes = 0;

  bool isPadded() const { return rowA != widthA() || rowB != widthB() || rowY != n; }
  /// Elements of a stored row without padding.
  int64_t widthA() const { return transA ? m : k; }
  int64_t widthB() const { return transB ? k : n; }
  bool isScaled() const { return typeA == DType::F8E4M3 || typeA == DType::F8E5M2; }
  /// Reads or writes a matrix as large as Y beside it: GELU's input.
  bool hasAuxiliary() const {
    return epilogue == Epilogue::GeluKept || epilogue == Epilogue::GeluGrad ||
           epilogue == Epilogue::GeluGradSums;
  }
  /// The second result is a vector of sums.
  bool hasSums() const { return epilogue >= Epilogue::GeluGradSums; }
  /// There is nothing to multiply.
  bool isEmpty() const { return m == 0 || n == 0 || k == 0 || batch == 0; }
  /// The call's part of an algorithm table key: everything that may decide the choice of an algorithm.
  std::string key() const;
};

/// A product as several equal calls: call i starts at the given elements of A and B, and at i * batch * m * n
/// of Y.
struct MatmulCalls {
  MatmulShape shape;
  std::vector<int64_t> offsetsA, offsetsB;
  int addend = -1; ///< position of C among the inputs; -1: no C
  /// C is neither a bias nor a full matrix. It is broadcast into Y first (stride 0: broadcast), then `beta`
  /// adds it.
  bool broadcasts = false;
  int64_t rowStride = 0, columnStride = 0;
  int auxiliary = -1,
      sums = -1;  ///< positions of GELU's input, and of a vector of sums, among the operands; -1: none
  int result = 0; ///< position of what the product writes
  int micro =
      -1; ///< position of the number of the micro-batch: in the first the product replaces C; -1: never
  bool apart = false; ///< the program's own kernels compute the epilogue, behind the product
};

/// Throws rt::RuntimeError for types whose products in cuBLASLt would differ from those on the CPU.
MatmulCalls matmulCallsOf(const LibraryCall &call);
/// The same with the bias written to Y first, for products where the library has no algorithm that adds a
/// bias.
MatmulCalls withBiasApart(MatmulCalls calls);
/// The same with the epilogue left to the program's own kernels, where the library has no algorithm with it.
MatmulCalls withEpilogueApart(MatmulCalls calls);

/// A convolution, or a gradient of one, in cuDNN's terms.
struct ConvolutionCall {
  using Kind = calls::ConvRoles::Kind;
  Kind kind = Kind::Forward;
  DType type = DType::F32;
  int dims = 2; ///< spatial dimensions; at least 2
  std::array<int, 5> x{}, w{},
      y{}; ///< shapes of image, filter and result of the convolution; `dims` + 2 entries are used
  std::array<int, 3> pad{}, stride{}, dilation{};
  int groups = 1;
  /// Positions of the operands in the call, counted over inputs, then outputs.
  int image = -1, filter = -1, result = -1, bias = -1;

  bool isNarrow() const { return type == DType::BF16 || type == DType::F16; }
};

/// Which types of convolutions are cuDNN's: those that its plain sums round once, or those of 16 bits, too.
enum class CudnnTypes { Wide, All };
/// Whether cuDNN supports this convolution: f32 or f64, or 16 bits without a bias, which it would add after
/// rounding, and with more than one channel a group, as it has no engine of tensor cores for one; and equal
/// pads at both ends of each dimension. All others use generated kernels.
bool cudnnTakes(const LibraryCall &call, CudnnTypes types);
/// Throws rt::RuntimeError for a convolution that cuDNN does not support.
ConvolutionCall convolutionCallOf(const LibraryCall &call);

/// MatmulShape::key() of each library product of a program; with `apart`, of what is left of it without the
/// epilogue, and without that and the bias.
std::set<std::string> productKeys(const Program &program, bool apart = false);

bool isMatmul(const std::string &library);
bool isConvolution(const std::string &library);
/// Collectives, and ops in which a rank takes its own part of a tensor.
bool isAmongRanks(const std::string &library);

/// Workspace bytes that the memory plan gives a library call. Depends
/// on the call only. Throws rt::RuntimeError if the target has no such call.
uint64_t plannedWorkspaceBytes(const LibraryCall &call);

} // namespace kedge::rt::calls
