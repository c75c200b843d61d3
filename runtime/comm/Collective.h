// A collective of a launch as data, and the scratch memory that it takes. No engine is needed to know either.
#pragma once
#include "runtime/format/Tensor.h"
#include <span>
#include <string>
#include <vector>

namespace kedge::rt {

enum class CollectiveKind : uint8_t {
  ReduceScatter, ///< every rank gets its part of the sum (shardOf); the rest of the part is padding, zero
  AllGather,     ///< every rank gets all parts, without their padding
  AllReduce,     ///< every rank gets the whole sum, or maximum
  Transfer       ///< every rank gets the tensors of one rank, or zeros
};

enum class Reduction : uint8_t {
  Sum, ///< in the order of ranks, 16-bit types and f32 in f32, rounded once to the type
  Max  ///< NaN where any is NaN
};

/// One tensor of a collective. Input and output live from the start to the end and share no byte.
struct CollectiveTensor {
  const void *input = nullptr;
  void *output = nullptr;
  int64_t elements = 0; ///< of the whole tensor
  DType type = DType::F32;
};

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  std::vector<CollectiveTensor> tensors;
  void *workspace = nullptr; ///< collectiveWorkspace bytes, 64-byte aligned
  /// Runs beside the others and after the background ones that were started before.
  bool background = false;
  std::string name; ///< in messages: "dist.reduce_scatter at h.0"

  /// Of a transfer, by rank: whose tensors it gets; kNobody: zeros.
  std::vector<int64_t> givers;
  static constexpr int64_t kNobody = -1;
};

/// Scratch bytes on each of `ranks` ranks; depends on the tensors' sizes only. At most kMostWorkspace, however large the
/// tensors are.
size_t collectiveWorkspace(const Collective &collective, int64_t ranks);

constexpr size_t kMostWorkspace = size_t(16) << 20;

} // namespace kedge::rt
