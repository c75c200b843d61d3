// Writes one GPU kernel: numbers with operators, loops, memory, the threads of a block working together.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lower/Cluster/ScalarOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <type_traits>

namespace kedge::lower::gpu {

class KernelBuilder;

/// A number of the kernel that is being written, or a vector of numbers. Operators compute it; a literal
/// takes the type of the other operand. Integers are indices: comparisons are signed, / and % are unsigned.
class Num {
public:
  Num() = default;
  Num(KernelBuilder &kernel, mlir::Value value) : kernel(&kernel), value(value) {}
  mlir::Type type() const { return value.getType(); }
  /// All of it, when it is known while the kernel is written.
  std::optional<int64_t> constant() const;

  KernelBuilder *kernel = nullptr;
  mlir::Value value;
};

Num operator+(Num a, Num b);
Num operator-(Num a, Num b);
Num operator*(Num a, Num b);
Num operator/(Num a, Num b);
Num operator%(Num a, Num b);
Num operator&(Num a, Num b);
Num operator|(Num a, Num b);
Num operator^(Num a, Num b);
Num operator<(Num a, Num b);
Num operator<=(Num a, Num b);
Num operator>(Num a, Num b);
Num operator>=(Num a, Num b);
Num operator==(Num a, Num b);
Num operator!=(Num a, Num b);
Num operator!(Num a);
Num operator-(Num a);

/// A constant of the type of `like`.
Num literal(Num like, double value);
Num literal(Num like, int64_t value);

template <typename T> Num literalOf(Num like, T value) {
  if constexpr (std::is_floating_point_v<T>)
    return literal(like, static_cast<double>(value));
  else
    return literal(like, static_cast<int64_t>(value));
}
#define KEDGE_LITERAL_OPERATOR(op)                                                                           \
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>> Num operator op(Num a, T b) {  \
    return a op literalOf(a, b);                                                                             \
  }                                                                                                          \
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>> Num operator op(T a, Num b) {  \
    return literalOf(b, a) op b;                                                                             \
  }
KEDGE_LITERAL_OPERATOR(+)
KEDGE_LITERAL_OPERATOR(-)
KEDGE_LITERAL_OPERATOR(*)
KEDGE_LITERAL_OPERATOR(/)
KEDGE_LITERAL_OPERATOR(%)
KEDGE_LITERAL_OPERATOR(&)
KEDGE_LITERAL_OPERATOR(^)
KEDGE_LITERAL_OPERATOR(<)
KEDGE_LITERAL_OPERATOR(<=)
KEDGE_LITERAL_OPERATOR(>)
KEDGE_LITERAL_OPERATOR(>=)
KEDGE_LITERAL_OPERATOR(==)
KEDGE_LITERAL_OPERATOR(!=)
#undef KEDGE_LITERAL_OPERATOR

Num select(Num condition, Num a, Num b);
Num max(Num a, Num b); ///< b when they do not compare
Num min(Num a, Num b); ///< b when they do not compare
Num fma(Num a, Num b, Num c);

using Nums = llvm::SmallVector<Num>;
template <typename T> using Fn = llvm::function_ref<T>;

/// The type in which kernels compute with elements of a type: f32 for floats of 16 bits.
mlir::Type computeTypeOf(mlir::Type element);

/// Elements of one type in global or shared memory, and the type of the numbers that are loaded from there
/// and stored there, each rounded once. bool is i8, 0 or 1.
struct Memory {
  Memory() = default;
  Memory(mlir::Value pointer, mlir::Type element) : Memory(pointer, element, computeTypeOf(element)) {}
  Memory(mlir::Value pointer, mlir::Type element, mlir::Type compute)
      : pointer(pointer), element(element), compute(compute) {}

  mlir::Value pointer;
  mlir::Type element, compute;
};

class KernelBuilder {
public:
  /// Indices have 32 bits unless the kernel is `wide`.
  KernelBuilder(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, bool wide);

  /// Asks for so few registers that this many blocks run on a processor at once.
  void residentBlocks(int64_t count);
  Num thread() const { return threadX; }
  Num block() const { return blockX; }
  Num index(int64_t value);
  Num f32(double value);
  /// To the kernel's index type.
  Num asIndex(Num value);
  Num convert(Num value, mlir::Type to); ///< integers to floats and between widths; signed
  Num exp2(Num x);                       ///< f32, within 1.2 ulp; 0 below 2^-126
  Num log(Num x);

  // Memory
  Num load(Memory from, Num at, unsigned width = 1); ///< width > 1: a vector, aligned to its size or 16 bytes
  void store(Memory to, Num at, Num value);
  Memory shared(mlir::Type element, int64_t count, int64_t alignment = 16);
  /// `values` in the module's constant data.
  Memory constants(llvm::ArrayRef<int32_t> values);
  Memory constants(llvm::ArrayRef<int64_t> values);
  Memory constants(llvm::ArrayRef<float> values);
  static Memory shifted(KernelBuilder &k, Memory from, Num elements);
  Memory shifted(Memory from, Num elements) { return shifted(*this, from, elements); }

  // Vectors
  Num lane(Num vector, unsigned at);
  Num vector(llvm::ArrayRef<Num> lanes); ///< a scalar when there is one
  Num zeros(mlir::Type scalar, unsigned width);

  // Control
  void loop(Num from, Num to, Num step, Fn<void(Num)> body);
  /// Takes and gives what is carried from one iteration to the next.
  Nums loop(Num from, Num to, Num step, Nums carried, Fn<Nums(Num, Nums)> body);
  void when(Num condition, Fn<void()> body);
  Nums choose(Num condition, Fn<Nums()> yes, Fn<Nums()> no);
  /// Ends the program with a launch error.
  void trapUnless(Num condition);

  // Threads together
  void barrier();
  Num shuffleXor(Num value, unsigned distance);
  Num shuffleFrom(Num value, Num lane);
  /// Over groups of `lanes` neighbours of a warp; all get the result, equal in all bits.
  Num reduceLanes(Num value, unsigned lanes, Fn<Num(Num, Num)> combine);

  /// Row-major indices of a flat one.
  Nums split(Num flat, llvm::ArrayRef<int64_t> sizes);
  Num dot(llvm::ArrayRef<Num> indices, llvm::ArrayRef<int64_t> strides);

  mlir::OpBuilder &b;
  mlir::Location loc;
  ScalarOps scalars;
  mlir::Type indexType;

private:
  Memory constantData(mlir::ElementsAttr values, mlir::Type element, int64_t count);
  mlir::Value address(Memory memory, Num at);

  mlir::gpu::GPUFuncOp kernel;
  Num threadX, blockX;
};

} // namespace kedge::lower::gpu
