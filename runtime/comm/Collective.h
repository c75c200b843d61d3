// A collective of a launch as plain data, and the scratch memory that it needs. Independent of how ranks
// communicate.
#pragma once
#include "runtime/format/Tensor.h"
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kedge::rt {

enum class CollectiveKind : uint8_t {
  ReduceScatter, ///< each rank gets its part of the sum (localShardOf); padding of a part is zero
  AllGather,     ///< every rank gets all parts, without their padding
  AllReduce,     ///< every rank gets the whole sum, or maximum
  Transfer,      ///< every rank gets the tensors of one rank, or zeros
  Rows           ///< rows go to the ranks that `rows` names, or come back from them
};

enum class Reduction : uint8_t {
  Sum, ///< added in the order of ranks; f32 and 16-bit types in f32, rounded once
  Max  ///< NaN if any value is NaN
};

/// One tensor of a collective. Its input and output stay valid from start to end and do not overlap.
struct CollectiveTensor {
  const void *input = nullptr;
  void *output = nullptr;
  int64_t elements = 0; ///< of the whole tensor
  DType type = DType::F32;
};

/// One rank sends a tensor, the other receives it.
struct PeerTransfer {
  int64_t rank = 0; ///< the other, by its place in the group
  bool sends = false;
  int64_t number = 0; ///< of the transfer, alike on both
};

/// Rows that go to ranks by what a tensor says as the program runs: those of a step's places, each of which
/// has an expert. Rank r has the experts [r * own, (r + 1) * own).
struct RoutedRows {
  bool back = false;               ///< from the rank of its expert to the place
  int64_t places = 0;              ///< of this rank
  int64_t each = 1;                ///< places in a row that share a row of the input
  int64_t own = 1;                 ///< experts of a rank
  int64_t width = 0;               ///< elements of a row
  int64_t capacity = 0;            ///< rows that a rank has room for, behind which are those of padding
  int64_t padding = 0;             ///< the number in them
  bool wideIndex = true;           ///< experts are i64, else i32
  const void *experts = nullptr;   ///< by place
  const int64_t *counts = nullptr; ///< [r * ranks + e]: the places of rank r whose experts rank e has
};

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  bool tree = false; ///< a sum of neighbours first, then of these sums; else in the order of ranks
  std::vector<CollectiveTensor> tensors;
  void *workspace = nullptr; ///< of collectiveWorkspace bytes, 64-byte aligned
  /// Runs at the same time as other collectives, but after background ones that were started before.
  bool background = false;
  std::string name; ///< for messages: "dist.reduce_scatter at h.0"
  std::string
      axis; ///< along which the ranks of the mesh take part, or several that commas join; empty: all ranks

  /// Transfer only: for each rank of the group, the one of it whose tensors it gets; kNobody: zeros.
  std::vector<int64_t> senders;
  static constexpr int64_t kNobody = -1;
  std::optional<RoutedRows> rows;   ///< Rows only, of the only tensor
  std::optional<PeerTransfer> peer; ///< Transfer only, between two ranks of the group alone
};

/// Scratch bytes that each of the `ranks` ranks of the group needs. Depends on the
/// sizes of the tensors only, and never exceeds kMostWorkspace.
size_t collectiveWorkspace(const Collective &collective, int64_t ranks);

constexpr size_t kMostWorkspace = size_t(16) << 20;

} // namespace kedge::rt
