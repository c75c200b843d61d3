// Sets states from files: whole tensors, or the part that a state's view selects.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"
#include <functional>
#include <memory>

namespace kedge::rt {

/// A whole tensor in memory, read from a file. The state's tensor = transpose(it, perm).
struct TensorSource {
  const char *data = nullptr;
  DType type = DType::F32;
  std::vector<int> perm;
  /// Called with bytes that are not needed any more; may be empty.
  std::function<void(const char *begin, size_t count)> letGo = {};
  std::shared_ptr<const void> made = {}; ///< what `data` lies in where it is no file's
};

/// The same where `source` has the state's shape; where it has the one before the state was resized, a copy
/// with the state's.
TensorSource resizedSource(const State &state, TensorSource source, const std::vector<int64_t> &shape);

/// Fills `destination`, the state's bytes, with the elements of its view, and with zeros outside of it.
/// Converts slice by slice, so that neither a converted copy nor the file's pages take memory beside the
/// state.
void fillFromTensor(const State &state, const TensorSource &source, char *destination);

/// One rank's part of a tensor: the elements of the view, one behind the other.
struct TensorPart {
  const char *data = nullptr;
  StateView view;
};
/// A tensor in parts of one type. `shape` is that of the tensor in the exported file, transposed by `perm`.
struct PartedSource {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int> perm;
  std::vector<TensorPart> parts;
};
/// The same from parts. `layout`: the state's axes relative to the file's. Parts
/// with another order of axes than the state's are first joined in memory.
void fillFromParts(const State &state, const std::vector<int> &layout, const PartedSource &source,
                   char *destination);

/// What a checkpoint stores of a state.
enum class Kept : uint8_t {
  Values,
  Hash,   ///< for frozen tensors, which are loaded from the model again and must not have changed
  Nothing ///< for constants, and for values that every step sets anew
};
Kept keptOf(const State &state);

struct FrozenTensor {
  std::string name; ///< name in the exported file
  DType type = DType::F32;
  std::string checksum; ///< of its elements, in the order of the exported file
};
/// Reads all states that checkpoints store as hashes. The result is on rank 0; the others help.
std::vector<FrozenTensor> frozenTensors(const Executor &executor);

/// Throws unless both lists are equal. `saved` is from the checkpoint in `folder`.
void checkFrozen(const std::string &folder, const std::vector<FrozenTensor> &saved,
                 const std::vector<FrozenTensor> &here);

} // namespace kedge::rt
