// Named tensors in files: reads and writes safetensors, reads the initializers of an ONNX file.
#pragma once
#include "runtime/format/Tensor.h"
#include "runtime/io/FileMap.h"
#include "runtime/io/FileWriter.h"
#include <functional>
#include <map>
#include <vector>

namespace kedge::rt {

struct TensorView {
  TensorDesc desc;
  const char *data = nullptr; ///< may be unaligned
};

/// A memory-mapped file of named tensors.
class TensorFile {
public:
  /// Opens a folder, or a file whose name ends in .safetensors, .index.json
  /// or .onnx. Throws rt::RuntimeError if the content does not match the format.
  static TensorFile open(const std::string &path);
  static TensorFile openSafetensors(const std::string &path);
  static TensorFile openOnnx(const std::string &path);
  /// Opens the shards that an index file names.
  static TensorFile openIndex(const std::string &path);
  /// Opens a folder as transformers saves it: one file, or shards with an index.
  static TensorFile openFolder(const std::string &path);

  const TensorView *find(const std::string &name) const;
  const std::map<std::string, TensorView> &tensors() const { return views; }
  const FileMap &file() const { return maps.front(); }
  /// All files that are read: shards and their index, external data.
  std::vector<std::string> paths() const;
  /// A function that releases memory pages of tensors after they were read (FileMap::letGo). Valid as long as
  /// this object.
  std::function<void(const char *begin, size_t count)> releaser() const;

private:
  friend class OnnxInitializers;
  std::vector<FileMap> maps;
  std::vector<std::vector<char>> made; ///< elements that lie in no one place of a file
  bool isSafetensors = false;
  std::map<std::string, TensorView> views;
};

/// A tensor to write: transpose(data, perm), converted to `desc.type`.
struct TensorOut {
  std::string name;
  TensorDesc desc; ///< in the file
  const void *data = nullptr;
  DType dataType = DType::F32;
  std::vector<int> perm; ///< file tensor = transpose(data, perm); empty: as it is
  /// If `data` is null: returns the data when the tensor is written; valid until the next tensor is.
  std::function<const void *()> fetch = {};
};

/// The name of a tensor in a safetensors file: its own name. But __metadata__ is reserved by
/// the format, so it gets one more underscore, as does any name that would then occur twice.
std::string safetensorsName(const std::string &name);

void writeSafetensors(FileWriter &writer, const std::vector<TensorOut> &tensors);

/// Writes the bytes of one tensor as in the file.
void writeTensorData(FileWriter &writer, const TensorOut &tensor);

} // namespace kedge::rt
