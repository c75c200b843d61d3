#include "driver/artifacts/Checkpoint.h"
#include "driver/artifacts/FlatTable.h"
#include "lib/Support/Error.h"

namespace kedge::driver {
namespace {

// Numbers of the fields in onnxruntime 1.19.2's schemas (onnxruntime/core/flatbuffers/schema:
// ort_training_checkpoint.fbs and ort.fbs).
constexpr int kVersion = 0, kModuleState = 1, kOptimizerGroups = 2;
constexpr int kTrained = 0, kFrozen = 1, kIsNominal = 2, kHasExternalData = 3;
constexpr int kName = 0, kDims = 2, kDataType = 3, kRawData = 4;
constexpr int32_t kLastVersion = 2; // there is none after 1.19.2

model::Tensor tensorOf(const FlatTable &entry, const std::shared_ptr<const model::MappedFile> &file) {
  model::Tensor tensor;
  tensor.name = entry.text(kName);
  tensor.dims = entry.numbers(kDims);
  const auto type = entry.number<int32_t>(kDataType, 0);
  tensor.dtype = static_cast<model::ElementType>(type); // ONNX's numbers
  const auto [offset, length] = entry.bytes(kRawData);
  tensor.storage = model::Tensor::Storage::Inline;
  tensor.path = file->path();
  tensor.file = file;
  tensor.offset = offset;
  tensor.length = length;
  if (tensor.name.empty() || model::dtypeBits(tensor.dtype) == 0)
    fail("{}: expected tensors with a name and an element type of ONNX, found '{}' with type {}",
         file->path(), tensor.name, type);
  int64_t elements = 1;
  for (int64_t size : tensor.dims)
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements))
      fail("{}: {} has a shape that no tensor has", file->path(), tensor.describe());
  if (tensor.byteSize() != length)
    fail("{}: {} needs {} bytes, found {}", file->path(), tensor.describe(), tensor.byteSize(), length);
  return tensor;
}

std::vector<model::Tensor> tensorsOf(const FlatTable &state, int field,
                                     const std::shared_ptr<const model::MappedFile> &file) {
  std::vector<model::Tensor> tensors;
  for (const FlatTable &entry : state.tables(field))
    tensors.push_back(tensorOf(entry, file));
  return tensors;
}

} // namespace

TrainedValues readCheckpoint(const std::string &path) {
  const auto file = model::MappedFile::open(path);
  const FlatTable root = FlatTable::root(file, "ODTC");
  if (const auto version = root.number<int32_t>(kVersion, 0); version > kLastVersion)
    fail("{}: expected a checkpoint of version {} at most, as ONNX Runtime 1.19.2 writes it, found {}", path,
         kLastVersion, version);
  const std::vector<FlatTable> state = root.table(kModuleState);
  if (state.empty())
    fail("{}: expected a checkpoint with parameters, found none", path);
  if (state[0].number<uint8_t>(kIsNominal, 0) != 0)
    fail("{}: expected the parameters' values, found a checkpoint of names alone; give a folder with the "
         "whole checkpoint",
         path);
  if (state[0].number<uint8_t>(kHasExternalData, 0) != 0)
    fail("{}: checkpoints with their values in a file of their own are not available yet", path);
  TrainedValues checkpoint;
  checkpoint.trained = tensorsOf(state[0], kTrained, file);
  checkpoint.frozen = tensorsOf(state[0], kFrozen, file);
  checkpoint.holdsOptimizer = !root.tables(kOptimizerGroups).empty();
  return checkpoint;
}

} // namespace kedge::driver
