// Named tensors in files: safetensors (read and written) and the initializers of an ONNX file (read).
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

/// A mapped file of named tensors.
class TensorFile {
public:
  /// A folder, or by the name's end: .safetensors, .index.json or .onnx. Throws rt::Error on anything that does not fit
  /// the format.
  static TensorFile open(const std::string &path);
  static TensorFile openSafetensors(const std::string &path);
  static TensorFile openOnnx(const std::string &path);
  /// Shards, by the file that says which tensor is in which; only what it names.
  static TensorFile openIndex(const std::string &path);
  /// What transformers saves into a folder: one file, or shards with their index.
  static TensorFile openFolder(const std::string &path);

  const TensorView *find(const std::string &name) const;
  const std::map<std::string, TensorView> &tensors() const { return views; }
  const FileMap &file() const { return maps.front(); }
  /// Of all files that it reads: shards and their index, external data.
  std::vector<std::string> paths() const;
  /// Lets pages of tensors go that were read (FileMap::letGo); valid as long as this object.
  std::function<void(const char *begin, size_t count)> releaser() const;

private:
  friend class OnnxInitializers;
  std::vector<FileMap> maps;
  bool isSafetensors = false;
  std::map<std::string, TensorView> views;
};

/// A tensor to be written: transpose(data, perm), converted to `desc.type`.
struct TensorOut {
  std::string name;
  TensorDesc desc; ///< in the file
  const void *data = nullptr;
  DType dataType = DType::F32;
  std::vector<int> perm; ///< file tensor = transpose(data, perm); empty: as it is
  /// Where `data` is null: gives it when its turn comes; valid until the next tensor's turn.
  std::function<const void *()> fetch = {};
};

/// The name that a tensor has in a safetensors file: its own, but for __metadata__, which the format keeps for texts, and
/// for what would then collide: one underscore more.
std::string safetensorsName(const std::string &name);

void writeSafetensors(FileWriter &writer, const std::vector<TensorOut> &tensors);

/// Streams one tensor's bytes as the file holds them.
void writeTensorData(FileWriter &writer, const TensorOut &tensor);

} // namespace kedge::rt
