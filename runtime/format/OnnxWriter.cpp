#include "runtime/format/OnnxWriter.h"
#include "runtime/format/Convert.h"
#include "runtime/format/Integers.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileMap.h"
#include "runtime/platform/Folders.h"
#include <algorithm>
#include <map>
#include <memory>

namespace kedge::rt {

using nlohmann::json;

namespace {

size_t appendVarint(uint8_t *out, uint64_t value) {
  size_t count = 0;
  for (; value >= 0x80; value >>= 7)
    out[count++] = static_cast<uint8_t>(value | 0x80);
  out[count++] = static_cast<uint8_t>(value);
  return count;
}

size_t messagePrefix(uint8_t *out, uint64_t field, uint64_t length) {
  size_t count = appendVarint(out, (field << 3) | 2);
  return count + appendVarint(out + count, length);
}

class Writer {
public:
  Writer(const json &skeleton, const uint8_t *blob, uint64_t blobSize, const std::string &modelPath,
         const std::string &path, const StateLookup &lookup)
      : skeleton(skeleton), blob(blob), blobSize(blobSize), modelPath(modelPath), lookup(lookup),
        externalName(platform::nameOf(path) + ".data") {}

  uint64_t size(const json &pieces) const {
    uint64_t total = 0;
    for (const json &piece : pieces)
      total += pieceSize(piece);
    return total;
  }

  void write(const json &pieces, AtomicFile &out) {
    for (const json &piece : pieces)
      writePiece(piece, out);
  }

private:
  static TensorDesc stateDesc(const json &piece) {
    return {parseDType(piece[2].get<std::string>()), piece[3].get<std::vector<int64_t>>()};
  }

  uint64_t pieceSize(const json &piece) const {
    const std::string &kind = piece[0].get_ref<const std::string &>();
    if (kind == "bytes")
      return piece[2].get<uint64_t>();
    if (kind == "copy")
      return piece[3].get<uint64_t>();
    if (kind == "state")
      return stateDesc(piece).bytes();
    if (kind == "integers")
      return sizeOfIntegers(piece);
    if (kind == "external_name")
      return externalName.size();
    if (kind == "message") {
      uint8_t prefix[20];
      uint64_t inner = size(piece[2]);
      return inner + messagePrefix(prefix, piece[1].get<uint64_t>(), inner);
    }
    fail("export: the program has a piece '{}' of unknown size in its ONNX skeleton", kind);
  }

  void writePiece(const json &piece, AtomicFile &out) {
    const std::string &kind = piece[0].get_ref<const std::string &>();
    if (kind == "bytes")
      return writeBlob(piece[1].get<uint64_t>(), piece[2].get<uint64_t>(), out);
    if (kind == "copy")
      return writeCopy(piece[1].get<size_t>(), piece[2].get<uint64_t>(), piece[3].get<uint64_t>(), out);
    if (kind == "state")
      return writeState(piece[1].get<std::string>(), stateDesc(piece), out);
    if (kind == "integers") {
      const std::vector<uint8_t> bytes = integersOf(piece, lookup);
      return out.write(bytes.data(), bytes.size());
    }
    if (kind == "external_name")
      return out.write(externalName.data(), externalName.size());
    if (kind == "align")
      return writeGap(piece[1].get<uint64_t>(), out);
    if (kind != "message")
      fail("export: the program has an unknown piece '{}' in its ONNX skeleton", kind);
    uint8_t prefix[20];
    out.write(prefix, messagePrefix(prefix, piece[1].get<uint64_t>(), size(piece[2])));
    write(piece[2], out);
  }

  void writeBlob(uint64_t offset, uint64_t length, AtomicFile &out) {
    if (offset > blobSize || length > blobSize - offset)
      fail("export: the program's ONNX skeleton names bytes {}+{} of {}; the program is damaged, compile it "
           "again",
           offset, length, blobSize);
    out.write(blob + offset, length);
  }

  void writeCopy(size_t index, uint64_t offset, uint64_t length, AtomicFile &out) {
    const FileMap &source = file(index);
    if (offset > source.size() || length > source.size() - offset)
      fail("export needs bytes {}+{} of '{}', which has only {}; expected the model that was compiled. Name "
           "it with "
           "--model",
           offset, length, source.path(), source.size());
    out.write(source.data() + offset, length);
  }

  static void writeGap(uint64_t align, AtomicFile &out) {
    static const char zeros[4096] = {};
    uint64_t rest = (align - out.position() % align) % align;
    for (; rest > 0; rest -= std::min<uint64_t>(rest, sizeof zeros))
      out.write(zeros, std::min<uint64_t>(rest, sizeof zeros));
  }

  void writeState(const std::string &name, const TensorDesc &wanted, AtomicFile &out) {
    ExportedState state = lookup(name);
    if (state.desc.elements() != wanted.elements())
      fail("export: state '{}' has {} elements, the ONNX file expects {}; the program is damaged, compile it "
           "again",
           name, state.desc.elements(), wanted.elements());
    if (wanted.elements() == 0)
      return;
    if (state.perm.empty() && state.desc.type == wanted.type)
      return out.write(state.data, wanted.bytes());
    // Rank 0 counts as one row, as in transposeRows.
    int64_t rows = wanted.shape.empty() ? 1 : wanted.shape[0];
    size_t rowBytes = wanted.bytes() / static_cast<size_t>(rows);
    int64_t step = std::max<int64_t>(1, static_cast<int64_t>((size_t(4) << 20) / rowBytes));
    for (int64_t begin = 0; begin < rows; begin += step) {
      int64_t end = std::min(rows, begin + step);
      scratch.resize(static_cast<size_t>(end - begin) * rowBytes);
      transposeRows(scratch.data(), wanted.type, wanted.shape, state.data, state.desc.type, state.perm, begin,
                    end);
      out.write(scratch.data(), scratch.size());
    }
  }

  const FileMap &file(size_t index) {
    auto &entry = files[index];
    if (!entry) {
      std::string location = skeleton.at("files").at(index).get<std::string>();
      entry = std::make_unique<FileMap>(location.empty() ? modelPath : besideFile(modelPath, location),
                                        "model file");
    }
    return *entry;
  }

  const json &skeleton;
  const uint8_t *blob;
  uint64_t blobSize;
  const std::string &modelPath;
  const StateLookup &lookup;
  std::string externalName;
  std::map<size_t, std::unique_ptr<FileMap>> files;
  std::vector<uint8_t> scratch;
};

} // namespace

void writeOnnx(const json &skeleton, const uint8_t *blob, uint64_t blobSize, const std::string &modelPath,
               const std::string &path, const StateLookup &lookup) {
  if (!skeleton.contains("model"))
    fail("this program holds no ONNX skeleton and cannot export '{}'; compile it again from an .onnx file",
         path);
  Writer writer(skeleton, blob, blobSize, modelPath, path, lookup);
  const json &external = skeleton.at("external");
  std::unique_ptr<AtomicFile> data;
  if (!external.empty()) {
    data = std::make_unique<AtomicFile>(path + ".data");
    writer.write(external, *data);
  }
  AtomicFile model(path);
  writer.write(skeleton.at("model"), model);
  // The model last: it is the one that makes the data meaningful.
  if (data)
    data->commit();
  model.commit();
}

} // namespace kedge::rt
