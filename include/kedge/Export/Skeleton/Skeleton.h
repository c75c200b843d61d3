// A model file with holes: what a program needs to write trained ONNX without knowing protobuf.
// runtime/format/OnnxWriter.h describes the JSON form and writes the file.
#pragma once
#include "kedge/Export/Skeleton/SkeletonEdits.h"
#include <nlohmann/json.hpp>

namespace kedge::exporter {

/// A range of bytes of the model file (empty location) or of an external file beside it.
struct FileRange {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// One part of a file. Messages hold parts; their lengths are computed when the file is written.
struct Piece {
  enum class Kind {
    Literal,      // `text`
    Original,     // `range` of the model file that goes into the program
    Copied,       // `range`, read from the file when the program exports
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

struct Skeleton {
  std::vector<Piece> model;
  std::vector<Piece> external; // empty: no external file
  /// JSON for the program; literals are appended to `blob` and named by their place in it.
  nlohmann::json toJson(const model::Model &, std::vector<uint8_t> &blob) const;
};

struct SkeletonOptions {
  /// Keep all bytes in the program, so that export needs no model file (--embed-weights).
  bool embed = false;
  /// Untouched tensors up to this size are kept in the program in any case.
  uint64_t literalLimit = 4096;
  /// Above this size of the model file weights become external data.
  uint64_t maxModelBytes = 2'147'000'000;
};

/// Throws kedge::Error when an edit names a place that the file does not have.
Skeleton buildSkeleton(const model::Model &, const Edits &, const SkeletonOptions & = {});

} // namespace kedge::exporter
