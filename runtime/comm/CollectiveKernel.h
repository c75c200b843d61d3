// Library kernels that all ranks run together, such as dist.reduce_scatter.
#pragma once
#include "runtime/calls/LibraryKernel.h"
#include "runtime/comm/Communicator.h"

namespace kedge::rt {
using namespace calls;

/// Created without ranks, so that its workspace is known. bind() connects it to ranks and operands before the
/// first run.
class CollectiveKernel : public LibraryKernel {
public:
  /// Pointers as in run(). `background`: see Collective.
  virtual std::unique_ptr<CollectiveRun> bind(Communicator &communicator, const void *const *inputs,
                                              void *const *outputs, void *workspace, bool background,
                                              const std::string &place) const = 0;
  void run(const void *const *, void *const *, void *) final;
};

/// The collective that a call describes, without operands. Throws rt::RuntimeError if the call is invalid.
Collective collectiveOf(const LibraryCall &call);
/// Throws rt::RuntimeError if the call, a collective or local_shard, is invalid. Makes no kernel.
void checkRankCall(const LibraryCall &call);
/// The number of ranks that a call of this family is for, and the axes along which they lie; throws in the
/// same way.
int64_t ranksOf(const LibraryCall &call);
std::string axisOf(const nlohmann::json &attrs);
/// Whether the call is one end of a transfer between two ranks.
bool isPeerTransfer(std::string_view library);
/// The ranks of the mesh that a call joins. Throws rt::RuntimeError if they are not as many as it is for.
GroupMembers groupOf(const LibraryCall &call, const Mesh &mesh, int64_t rank);

/// What a launch of a collective sends, as docs/guide/ranks.md counts it. Nothing for other kernels and for
/// local_shard.
struct Traffic {
  std::string collective; ///< "all_reduce"
  DType type = DType::F32;
  bool scalar = false;  ///< a tensor of one element, which is counted separately
  int64_t elements = 0; ///< an all-reduce of n elements counts 2 n, all others n
};
/// One entry for each tensor.
std::vector<Traffic> trafficOf(const std::string &library, const std::vector<TensorDesc> &inputs,
                               const std::vector<TensorDesc> &outputs);

void registerCollectives();

} // namespace kedge::rt
