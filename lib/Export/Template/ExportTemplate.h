// A model file with gaps for the trained values, so that a program can write trained ONNX
// without protobuf. runtime/format/OnnxWriter.h describes its JSON form and writes the file.
#pragma once
#include "lib/Export/Template/ExportTemplateEdits.h"
#include <nlohmann/json.hpp>

namespace kedge::exporter {

/// A range of bytes of the model file (empty location) or of an external file beside it.
struct FileRange {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// One part of a file. A message consists of parts; its length is computed when the file is written.
struct Piece {
  enum class Kind {
    Literal,      // `text`
    Original,     // `range` of the model file, stored in the program
    Copied,       // `range`, read from the model file when the program exports
    State,        // elements of a state
    Message,      // length-delimited protobuf field `field` with `parts`
    ExternalName, // name of the external file that is written beside the model
    Align         // zeros up to a multiple of `align` (external file only)
  };
  Kind kind = Kind::Literal;
  std::string text;
  FileRange range;
  StateElements state;
  int field = 0;
  uint64_t align = 0;
  std::vector<Piece> parts;
};

struct ExportTemplate {
  std::vector<Piece> model;
  std::vector<Piece> external; // empty: no external file
  /// The JSON for the program. Literals are appended to `blob`, and the JSON refers to them by offset.
  nlohmann::json toJson(const model::Model &, std::vector<uint8_t> &blob) const;
};

struct ExportTemplateOptions {
  /// Store all bytes in the program, so that an export needs no model file (--embed-weights).
  bool embed = false;
  /// Tensors that do not train and have at most this many bytes are stored in the program in any case.
  uint64_t literalLimit = 4096;
  /// Above this size of the model file weights become external data.
  uint64_t maxModelBytes = 2'147'000'000;
};

/// Throws kedge::Error when an edit refers to a place that is not in the file.
ExportTemplate buildExportTemplate(const model::Model &, const Edits &, const ExportTemplateOptions & = {});

} // namespace kedge::exporter
