// Library kernels that ranks run together: dist.reduce_scatter and its kin.
#pragma once
#include "runtime/calls/LibraryKernel.h"
#include "runtime/comm/Communicator.h"

namespace kedge::rt {

/// Made without ranks, for its workspace; bound to them, and to its operands, before the first run.
class CollectiveKernel : public LibraryKernel {
public:
  /// `background`: see Collective. Pointers as those of run().
  virtual std::unique_ptr<CollectiveRun> bind(Communicator &communicator, const void *const *inputs,
                                              void *const *outputs, void *workspace, bool background,
                                              const std::string &place) const = 0;
  void run(const void *const *, void *const *, void *) final;
};

/// What a call of a collective says, without operands. Throws rt::Error where it makes no sense.
Collective collectiveOf(const LibraryCall &call);
/// The ranks that a call of this family is among; the same.
int64_t ranksOf(const LibraryCall &call);

/// What a launch of a collective sends, as contract section 7 counts; nothing for other kernels and own_part.
struct Traffic {
  std::string collective; ///< "all_reduce"
  DType type = DType::F32;
  bool scalar = false;  ///< of rank 0: counted apart
  int64_t elements = 0; ///< an all-reduce of n counts 2 n, the others n
};
/// One entry a tensor.
std::vector<Traffic> trafficOf(const std::string &library, const std::vector<TensorDesc> &inputs,
                               const std::vector<TensorDesc> &outputs);

void registerCollectives();

} // namespace kedge::rt
