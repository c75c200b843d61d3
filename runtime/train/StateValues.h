// Values of states out of files: whole tensors, or the part that a state's view names.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"
#include <functional>

namespace kedge::rt {

/// A whole tensor in memory that comes from a file: the state's tensor = transpose(it, perm).
struct TensorSource {
  const char *data = nullptr;
  DType type = DType::F32;
  std::vector<int> perm;
  /// Told of bytes that were read and are not needed again; may be empty.
  std::function<void(const char *begin, size_t count)> letGo = {};
};

/// Fills `destination`, the state's bytes, from the source: elements of its view, converted slice by slice, so that
/// neither a converted copy nor the file's pages are resident beside the state; zeros outside the view.
void fillFromTensor(const State &state, const TensorSource &source, char *destination);

/// One rank's part of a tensor: elements [first, first + count) of the whole lie at `data`.
struct TensorPart {
  const char *data = nullptr;
  int64_t first = 0, count = 0;
};
/// A tensor in parts of one type; the tensor in the exported file, transposed by `perm`, has this shape.
struct PartedSource {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int> perm;
  std::vector<TensorPart> parts;
};
/// The same from parts; `layout`: the state's own axes against the file's. Parts in another order of axes than the state's
/// are put together in memory first.
void fillFromParts(const State &state, const std::vector<int> &layout, const PartedSource &source, char *destination);

/// What a checkpoint keeps of a state.
enum class Kept : uint8_t {
  Values,
  Hash,   ///< frozen tensors come from the model again, and must be the same
  Nothing ///< constants, and what every step begins anew
};
Kept keptOf(const State &state);

struct FrozenTensor {
  std::string name; ///< in the exported file
  DType type = DType::F32;
  std::string checksum; ///< of its elements in the order of the exported file
};
/// Of every state that checkpoints keep by hash; on rank 0, the others help. Reads all of them.
std::vector<FrozenTensor> frozenTensors(const Executor &executor);

/// Throws unless both lists are the same; `folder` is the checkpoint that `saved` is of.
void checkFrozen(const std::string &folder, const std::vector<FrozenTensor> &saved,
                 const std::vector<FrozenTensor> &here);

} // namespace kedge::rt
