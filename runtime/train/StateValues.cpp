#include "runtime/train/StateValues.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileWriter.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt {
namespace {

constexpr int64_t kSliceElements = 1 << 18;

FrozenTensor frozenTensor(const Executor &executor, const State &state) {
  state.expectWhole("hashed");
  const char *data = executor.read(state);
  const std::vector<int64_t> shape = state.fileShape();
  const std::vector<int> back = inversePerm(state.perm);
  const size_t size = dtypeSize(state.desc.type);
  std::vector<char> slice;
  std::string parts;
  const int64_t elements = state.desc.elements();
  for (int64_t begin = 0; begin < elements; begin += kSliceElements) {
    const int64_t count = std::min(kSliceElements, elements - begin);
    slice.resize(static_cast<size_t>(count) * size);
    transposeRange(slice.data(), state.desc.type, shape, data, state.desc.type, back, begin, count);
    parts += checksumOf(slice.data(), slice.size());
  }
  return {state.onnxName, state.desc.type, checksumOf(parts.data(), parts.size())};
}

const FrozenTensor *findFrozen(const std::vector<FrozenTensor> &list, const std::string &name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const FrozenTensor &entry) { return entry.name == name; });
  return found == list.end() ? nullptr : &*found;
}

} // namespace

void fillFromTensor(const State &state, const TensorSource &source, char *destination) {
  const StateView view = state.viewOrWhole();
  const size_t size = dtypeSize(state.desc.type), sourceSize = dtypeSize(source.type);
  const size_t before = static_cast<size_t>(view.at) * size, held = static_cast<size_t>(view.count) * size;
  std::memset(destination, 0, before);
  std::memset(destination + before + held, 0, state.desc.bytes() - before - held);
  char *to = destination + before;
  for (int64_t done = 0; done < view.count; done += kSliceElements) {
    const int64_t count = std::min(kSliceElements, view.count - done), begin = view.first + done;
    transposeRange(to + static_cast<size_t>(done) * size, state.desc.type, view.whole, source.data, source.type,
                   source.perm, begin, count);
    if (source.letGo && source.perm.empty())
      source.letGo(source.data + static_cast<size_t>(begin) * sourceSize, static_cast<size_t>(count) * sourceSize);
  }
  // Slices of a transposed tensor read all over the file.
  if (source.letGo && !source.perm.empty())
    source.letGo(source.data, static_cast<size_t>(TensorDesc{source.type, view.whole}.elements()) * sourceSize);
}

Kept keptOf(const State &state) {
  if (state.role == StateRole::Frozen)
    return Kept::Hash;
  switch (state.role) {
  case StateRole::Constant:
  case StateRole::Accumulator:
  case StateRole::WorkingCopy: // @restore makes it
  case StateRole::Scaler:      // in the manifest
    return Kept::Nothing;
  default:
    return Kept::Values;
  }
}

std::vector<FrozenTensor> frozenTensors(const Executor &executor) {
  std::vector<FrozenTensor> frozen;
  for (const State &state : executor.program().states)
    if (keptOf(state) == Kept::Hash)
      frozen.push_back(frozenTensor(executor, state));
  return frozen;
}

void checkFrozen(const std::string &folder, const std::vector<FrozenTensor> &saved,
                 const std::vector<FrozenTensor> &here) {
  for (const FrozenTensor &tensor : saved)
    if (!findFrozen(here, tensor.name))
      fail("{}: a checkpoint of another model: its frozen tensor '{}' is not one of this program's", folder, tensor.name);
  for (const FrozenTensor &tensor : here) {
    const FrozenTensor *known = findFrozen(saved, tensor.name);
    if (!known)
      fail("{}: a checkpoint of another model: it knows no frozen tensor '{}'", folder, tensor.name);
    if (known->type != tensor.type)
      fail("{}: the frozen tensor '{}' was {} when the checkpoint was written, and is {} here: they cannot be compared; "
           "compile with the same precision",
           folder, tensor.name, dtypeName(known->type), dtypeName(tensor.type));
    if (known->checksum != tensor.checksum)
      fail("{}: the frozen tensor '{}' has other values than when the checkpoint was written: give the --model, --weights "
           "or --init that the run began with",
           folder, tensor.name);
  }
}

} // namespace kedge::rt
