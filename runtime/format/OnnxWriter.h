// Writes the trained model as ONNX from the skeleton that
// the compiler stored in the program. Needs no protobuf.
//
// A skeleton in JSON (made by kedge::exporter::ExportTemplate::toJson):
//   {"files": ["", "gpt2.onnx.data"],          // "": the model file; others beside it
//    "model": [PIECE...], "external": [PIECE...]}   // external: content of the data file; empty: none is
//    written
//   PIECE = ["bytes", offset, length]           // in the blob (kedge_program_data)
//         | ["copy", file, offset, length]      // of files[file]
//         | ["state", name, "f32", [48, 144]]   // a state's elements in this type and shape, row-major
//         | ["integers", name, "i8", [48, 144], {...}]  // a state's codes, scales or zero points
//         | ["message", field, [PIECE...]]      // protobuf field with a length, computed while writing
//         | ["external_name"]                   // name of the data file: that of the exported file + ".data"
//         | ["align", 64]                       // zeros up to the next multiple
#pragma once
#include "runtime/format/Tensor.h"
#include <functional>
#include <nlohmann/json.hpp>

namespace kedge::rt {

/// The values of a state when the file is written. Exported tensor = transpose(data, perm); an empty
/// perm changes nothing. If the file has another type, values are converted (rounded to nearest even).
struct ExportedState {
  const void *data = nullptr;
  TensorDesc desc;
  std::vector<int> perm;
};
using StateLookup = std::function<ExportedState(const std::string &name)>;

/// Writes `path`, and `path`.data if the skeleton has external data, atomically:
/// temporary files, fsync, rename. `modelPath` is the model file that "copy"
/// pieces are read from. Throws rt::RuntimeError and leaves no half-written file.
void writeOnnx(const nlohmann::json &skeleton, const uint8_t *blob, uint64_t blobSize,
               const std::string &modelPath, const std::string &path, const StateLookup &lookup);

} // namespace kedge::rt
