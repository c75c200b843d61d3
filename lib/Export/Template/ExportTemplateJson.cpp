// A skeleton as the program carries it.
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Model/ModelFile.h"
#include "lib/Support/Error.h"

namespace kedge::exporter {

using nlohmann::json;

namespace {

/// Spelled as in runtime/format/Tensor.h.
std::string_view runtimeName(const StateElements &state) {
  using model::ElementType;
  switch (state.dtype) {
  case ElementType::Float:
    return "f32";
  case ElementType::Double:
    return "f64";
  case ElementType::Float16:
    return "f16";
  case ElementType::BFloat16:
    return "bf16";
  case ElementType::Int8:
    return "i8";
  case ElementType::Int16:
    return "i16";
  case ElementType::Int32:
    return "i32";
  case ElementType::Int64:
    return "i64";
  case ElementType::UInt8:
    return "u8";
  case ElementType::UInt16:
    return "u16";
  case ElementType::UInt32:
    return "u32";
  case ElementType::UInt64:
    return "u64";
  case ElementType::Bool:
    return "bool";
  default:
    fail("state '{}' cannot be exported as {}; expected bool, an integer, or a float of 16 to 64 bits",
         state.state, model::dtypeName(state.dtype));
  }
}

json integersOf(const StateElements &state) {
  using Kind = IntegerPart::Kind;
  const IntegerPart &part = *state.integers;
  const char *kind = part.kind == Kind::Codes          ? "codes"
                     : part.kind == Kind::Scales       ? "scales"
                     : part.kind == Kind::Bias         ? "bias"
                     : part.kind == Kind::Packed       ? "packed"
                     : part.kind == Kind::PackedScales ? "packed_scales"
                     : part.kind == Kind::BiasScales   ? "bias_scales"
                                                       : "zero_points";
  const bool isPacked = state.dtype == model::ElementType::Int4;
  json facts = {{"part", kind},        {"low", part.low}, {"high", part.high},      {"axis", part.axis},
                {"block", part.block}, {"max", part.max}, {"learned", part.learned}};
  if (!part.min.empty())
    facts["input"] = {{"min", part.min}, {"low", part.inputLow}, {"high", part.inputHigh}};
  if (!part.bias.empty())
    facts["of"] = part.bias;
  if (part.norm)
    facts["norm"] = {{"scale", part.norm->scale},
                     {"bias", part.norm->bias},
                     {"mean", part.norm->mean},
                     {"variance", part.norm->variance},
                     {"product_bias", part.norm->productBias},
                     {"epsilon", part.norm->epsilon}};
  return {"integers", state.state, isPacked ? "i4" : std::string(runtimeName(state)), state.dims, facts};
}

class JsonWriter {
public:
  JsonWriter(const model::Model &model, std::vector<uint8_t> &blob) : model(model), blob(blob) {}

  json write(const std::vector<Piece> &pieces) {
    json result = json::array();
    for (const Piece &piece : pieces)
      add(piece, result);
    return result;
  }

  json files = json::array({""});

private:
  void add(const Piece &piece, json &result) {
    switch (piece.kind) {
    case Piece::Kind::Literal:
      return literal(reinterpret_cast<const uint8_t *>(piece.text.data()), piece.text.size(), result);
    case Piece::Kind::Original:
      return literal(model.file->data() + piece.range.offset, piece.range.length, result);
    case Piece::Kind::Copied:
      return result.push_back(
          {"copy", fileIndex(piece.range.location), piece.range.offset, piece.range.length});
    case Piece::Kind::State:
      if (piece.state.integers)
        return result.push_back(integersOf(piece.state));
      return result.push_back({"state", piece.state.state, runtimeName(piece.state), piece.state.dims});
    case Piece::Kind::Message:
      return result.push_back({"message", piece.field, write(piece.parts)});
    case Piece::Kind::ExternalName:
      return result.push_back({"external_name"});
    case Piece::Kind::Align:
      return result.push_back({"align", piece.align});
    }
  }

  void literal(const uint8_t *data, uint64_t length, json &result) {
    if (length == 0)
      return;
    uint64_t offset = blob.size();
    blob.insert(blob.end(), data, data + length);
    if (!result.empty() && result.back()[0] == "bytes" &&
        result.back()[1].get<uint64_t>() + result.back()[2].get<uint64_t>() == offset)
      result.back()[2] = result.back()[2].get<uint64_t>() + length;
    else
      result.push_back({"bytes", offset, length});
  }

  size_t fileIndex(const std::string &location) {
    for (size_t k = 0; k < files.size(); ++k)
      if (files[k] == location)
        return k;
    files.push_back(location);
    return files.size() - 1;
  }

  const model::Model &model;
  std::vector<uint8_t> &blob;
};

} // namespace

json ExportTemplate::toJson(const model::Model &source, std::vector<uint8_t> &blob) const {
  JsonWriter writer(source, blob);
  json result;
  result["model"] = writer.write(model);
  result["external"] = writer.write(external);
  result["files"] = writer.files;
  return result;
}

} // namespace kedge::exporter
