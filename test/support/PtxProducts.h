// What Hopper's wgmma.mma_async computes, by the layouts of the PTX ISA document ("Register Fragments and
// Shared Memory Matrix Layouts", "Matrix Descriptor Format").
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace kedge::test {

/// A 16 x columns matrix in shared memory, or columns x 16 where it is not transposed.
class PtxSharedMatrix {
public:
  PtxSharedMatrix(uint64_t descriptor, bool isTransposed)
      : descriptor(descriptor), isTransposed(isTransposed) {}

  /// Null when the interpreter knows this layout and the matrix begins where its chunks' pattern does.
  const char *wrong() const;
  /// Address of element (step, column), with the exchange of chunks.
  uint64_t at(int64_t step, int64_t column) const;

private:
  uint64_t descriptor;
  bool isTransposed;
};

/// D = A B, or C + A B, of a warpgroup: 64 x columns. Lanes' registers as the document has them.
struct PtxProduct {
  int64_t columns = 0;
  bool isBrain = false, adds = false;
  std::vector<std::array<uint32_t, 4>> left; ///< of 128 threads
  std::vector<std::vector<float>> sums;      ///< the same, columns / 2 each; replaced
  std::function<uint16_t(int64_t step, int64_t column)> right;

  void run();
};

} // namespace kedge::test
