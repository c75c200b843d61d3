#include "runtime/train/weights/StateValues.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileWriter.h"
#include "runtime/train/checkpoint/WholeStates.h"
#include <algorithm>
#include <cstring>
#include <numeric>

namespace kedge::rt {
namespace {

constexpr int64_t kSliceElements = 1 << 18;

FrozenTensor frozenTensor(const State &state, DType type, const char *data) {
  const std::vector<int64_t> shape = state.fileShape();
  const std::vector<int> back = inversePerm(state.perm);
  const size_t size = dtypeSize(type);
  std::vector<char> slice;
  std::string parts;
  const int64_t elements = TensorDesc{type, shape}.elements();
  for (int64_t begin = 0; begin < elements; begin += kSliceElements) {
    const int64_t count = std::min(kSliceElements, elements - begin);
    slice.resize(static_cast<size_t>(count) * size);
    transposeRange(slice.data(), type, shape, data, type, back, begin, count);
    parts += checksumOf(slice.data(), slice.size());
  }
  return {state.onnxName, type, checksumOf(parts.data(), parts.size())};
}

const FrozenTensor *findFrozen(const std::vector<FrozenTensor> &list, const std::string &name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const FrozenTensor &entry) { return entry.name == name; });
  return found == list.end() ? nullptr : &*found;
}

} // namespace

TensorSource resizedSource(const State &state, TensorSource source, const std::vector<int64_t> &shape) {
  if (shape == state.fileShape() || !state.init.resized)
    return source;
  auto made = std::make_shared<const std::vector<char>>(
      resizedTensor(source.data, {source.type, state.fileShape()}, *state.init.resized));
  if (source.letGo)
    source.letGo(source.data, TensorDesc{source.type, shape}.bytes());
  return {made->data(), source.type, std::move(source.perm), {}, made};
}

void fillFromTensor(const State &state, const TensorSource &source, char *destination) {
  const StateView view = state.viewOrWhole();
  const size_t size = dtypeSize(state.desc.type), sourceSize = dtypeSize(source.type);
  const auto letGo = [&](int64_t begin, int64_t end) {
    if (source.letGo && source.perm.empty() && begin < end)
      source.letGo(source.data + static_cast<size_t>(begin) * sourceSize,
                   static_cast<size_t>(end - begin) * sourceSize);
  };
  int64_t filled = 0, kept = -1,
          read = 0; // elements here; of the source, those in [kept, read) are in memory
  view.forEachRun([&](const ElementRun &run) {
    kept = kept < 0 ? run.whole : kept;
    std::memset(destination + static_cast<size_t>(filled) * size, 0,
                static_cast<size_t>(run.here - filled) * size);
    filled = run.here + run.count;
    for (int64_t done = 0; done < run.count; done += kSliceElements) {
      const int64_t count = std::min(kSliceElements, run.count - done), begin = run.whole + done;
      transposeRange(destination + static_cast<size_t>(run.here + done) * size, state.desc.type, view.whole,
                     source.data, source.type, source.perm, begin, count);
      read = begin + count;
      if (read - kept >= kSliceElements)
        letGo(kept, read), kept = read;
    }
  });
  letGo(std::max<int64_t>(kept, 0), read);
  std::memset(destination + static_cast<size_t>(filled) * size, 0,
              static_cast<size_t>(state.desc.elements() - filled) * size);
  // Slices of a transposed tensor read all over the file.
  if (source.letGo && !source.perm.empty())
    source.letGo(source.data,
                 static_cast<size_t>(TensorDesc{source.type, view.whole}.elements()) * sourceSize);
}

namespace {

std::vector<int> orIdentity(const std::vector<int> &perm, size_t rank) {
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return perm.empty() ? axes : perm;
}

/// Fills these runs of a tensor with what parts of it have.
void copyParts(char *destination, DType type, const PartedSource &source,
               const std::vector<ElementRun> &runs) {
  for (const TensorPart &part : source.parts) {
    const char *data = part.data;
    auto next = runs.begin();
    part.view.forEachRun([&](const ElementRun &has) {
      while (next != runs.end() && next->whole + next->count <= has.whole)
        ++next;
      for (auto to = next; to != runs.end() && to->whole < has.whole + has.count; ++to) {
        const int64_t begin = std::max(has.whole, to->whole),
                      end = std::min(has.whole + has.count, to->whole + to->count);
        convert(destination + static_cast<size_t>(to->here + begin - to->whole) * dtypeSize(type), type, 1,
                data + static_cast<size_t>(begin - has.whole) * dtypeSize(source.type), source.type, 1,
                end - begin);
      }
      data += static_cast<size_t>(has.count) * dtypeSize(source.type);
    });
  }
}

} // namespace

void fillFromParts(const State &state, const std::vector<int> &layout, const PartedSource &source,
                   char *destination) {
  const size_t rank = source.shape.size();
  const std::vector<int> here = orIdentity(layout, rank), there = orIdentity(source.perm, rank);
  if (here == there) {
    std::memset(destination, 0, state.desc.bytes());
    copyParts(destination, state.desc.type, source, state.viewOrWhole().runs());
    return;
  }
  const TensorDesc whole{source.type, source.shape};
  std::vector<char> bytes(whole.bytes());
  copyParts(bytes.data(), source.type, source, {{0, 0, whole.elements()}});
  std::vector<int> perm(rank); // of the whole there to the whole here, by way of the file
  const std::vector<int> back = inversePerm(there);
  for (size_t k = 0; k < rank; ++k)
    perm[k] = back[static_cast<size_t>(here[k])];
  fillFromTensor(state, {bytes.data(), source.type, perm}, destination);
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
  onFirstRank(executor, [&](WholeStates &states) {
    for (const State &state : executor.program().states)
      if (keptOf(state) == Kept::Hash)
        frozen.push_back(frozenTensor(state, states.descOf(state).type, states.fetch(state)));
  });
  return frozen;
}

void checkFrozen(const std::string &folder, const std::vector<FrozenTensor> &saved,
                 const std::vector<FrozenTensor> &here) {
  for (const FrozenTensor &tensor : saved)
    if (!findFrozen(here, tensor.name))
      fail("{}: a checkpoint of another model: its frozen tensor '{}' is not one of this program's", folder,
           tensor.name);
  for (const FrozenTensor &tensor : here) {
    const FrozenTensor *known = findFrozen(saved, tensor.name);
    if (!known)
      fail("{}: a checkpoint of another model: it knows no frozen tensor '{}'", folder, tensor.name);
    if (known->type != tensor.type)
      fail("{}: the frozen tensor '{}' was {} when the checkpoint was written, and is {} here: they cannot "
           "be compared; "
           "compile with the same precision",
           folder, tensor.name, dtypeName(known->type), dtypeName(tensor.type));
    if (known->checksum != tensor.checksum)
      fail("{}: the frozen tensor '{}' has other values than when the checkpoint was written: give the "
           "--model, --weights "
           "or --init that the run began with",
           folder, tensor.name);
  }
}

} // namespace kedge::rt
