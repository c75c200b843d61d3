// Tensors in the exported file: raw_data of known length, or a place in the external file.
#include "lib/Export/Template/ExportTemplateBuilder.h"
#include "lib/Support/Error.h"

namespace kedge::exporter {

namespace {

/// Smaller tensors stay in the model file, as they do with other writers.
constexpr uint64_t smallestExternal = 1024;

struct Wanted {
  model::ElementType dtype;
  const std::vector<int64_t> *dims;
  uint64_t length;
};

uint64_t lengthOf(model::ElementType type, const std::vector<int64_t> &dims) {
  uint64_t elements = 1;
  for (int64_t d : dims)
    elements *= static_cast<uint64_t>(d);
  return (elements * model::dtypeBits(type) + 7) / 8;
}

template <typename Variant> Wanted wantedOf(const model::Tensor &old, const Variant &elements) {
  if (auto *state = std::get_if<StateElements>(&elements))
    return {state->dtype, &state->dims, lengthOf(state->dtype, state->dims)};
  if (auto *value = std::get_if<model::Tensor>(&elements))
    return {value->dtype, &value->dims, value->byteSize()};
  return {old.dtype, &old.dims, old.byteSize()};
}

std::string text(const model::Tensor &tensor) {
  model::Bytes bytes = tensor.bytes();
  return {reinterpret_cast<const char *>(bytes.data), bytes.size};
}

void addStrings(const model::Tensor &tensor, MessageParts &parts) {
  std::string out;
  for (const std::string &v : tensor.strings)
    putBytes(out, 6, v);
  parts.add(std::move(out));
}

Piece statePiece(const StateElements &elements) {
  Piece piece;
  piece.kind = Piece::Kind::State;
  piece.state = elements;
  return piece;
}

std::string typeAndShape(const Wanted &wanted) {
  std::string out;
  for (int64_t d : *wanted.dims)
    putVarint(out, 1, static_cast<uint64_t>(d));
  putVarint(out, 2, static_cast<uint64_t>(wanted.dtype));
  return out;
}

bool isDataField(int field) {
  return field == 4 || field == 5 || field == 6 || field == 7 || field == 9 || field == 10 || field == 11 ||
         field == 13 || field == 14;
}

} // namespace

std::optional<Piece> ExportTemplateBuilder::elementsOf(const model::Tensor &tensor, const TensorEdit *edit,
                                                       bool external) {
  if (edit) {
    if (auto *state = std::get_if<StateElements>(&edit->elements))
      return statePiece(*state);
    if (auto *value = std::get_if<model::Tensor>(&edit->elements))
      return literalPiece(value->dtype == model::ElementType::String ? std::string() : text(*value));
  }
  bool isInline = tensor.storage == model::Tensor::Storage::Inline;
  bool isExternal = tensor.storage == model::Tensor::Storage::External;
  if (isExternal && options.embed)
    return literalPiece(text(tensor));
  if (!isExternal && !external && (!isInline || options.embed || tensor.length <= options.literalLimit))
    return std::nullopt;
  if (!isInline && !isExternal)
    return literalPiece(text(tensor)); // varint-coded, and to be moved out
  Piece piece;
  piece.kind = isInline && options.embed ? Piece::Kind::Original : Piece::Kind::Copied;
  piece.range = {tensor.externalLocation, tensor.offset, tensor.length};
  return piece;
}

uint64_t ExportTemplateBuilder::placeExternally(Piece elements, uint64_t length) {
  std::string key = fmt::format("{}|{}|{}|{}|{}|{}", static_cast<int>(elements.kind), elements.range.location,
                                elements.range.offset, elements.range.length, elements.state.state,
                                static_cast<int>(elements.state.dtype));
  // Codes, scales and zero points are different parts of one state.
  bool shareable = elements.kind != Piece::Kind::Literal && !elements.state.integers;
  if (auto entry = externalPlaces.find(key); shareable && entry != externalPlaces.end())
    return entry->second;
  // Readers map large weights page by page.
  uint64_t align = length >= (1u << 20) ? 4096 : 64;
  if (externalSize % align != 0) {
    Piece gap;
    gap.kind = Piece::Kind::Align;
    gap.align = align;
    skeleton.external.push_back(gap);
    externalSize += align - externalSize % align;
  }
  uint64_t offset = externalSize;
  if (shareable)
    externalPlaces[key] = offset;
  skeleton.external.push_back(std::move(elements));
  externalSize += length;
  return offset;
}

void ExportTemplateBuilder::addElements(Piece elements, uint64_t length, bool external, MessageParts &parts) {
  if (!external) {
    parts.addMessage(9, {std::move(elements)});
    return;
  }
  std::string key, places;
  putBytes(key, 1, "location");
  Piece name;
  name.kind = Piece::Kind::ExternalName;
  Piece value;
  value.kind = Piece::Kind::Message;
  value.field = 2;
  value.parts = {name};
  parts.addMessage(13, {literalPiece(key), value});
  putEntry(places, 13, "offset", std::to_string(placeExternally(std::move(elements), length)));
  putEntry(places, 13, "length", std::to_string(length));
  putVarint(places, 14, 1);
  parts.add(std::move(places));
}

Rewritten ExportTemplateBuilder::rewriteTensor(model::Span span) {
  model::Tensor tensor = model::parseTensor(context, span);
  const TensorEdit *edit = find(edits.tensors, span.offset);
  static const TensorEdit noEdit;
  Wanted wanted = wantedOf(tensor, (edit ? *edit : noEdit).elements);
  bool external =
      wanted.dtype != model::ElementType::String && (tensor.storage == model::Tensor::Storage::External ||
                                                     (moveWeightsOut && wanted.length >= smallestExternal));
  std::optional<Piece> elements = elementsOf(tensor, edit, external);
  bool newType = edit && edit->elements.index() != 0;

  MessageParts parts;
  model::WireReader reader(*context.file, span, "a tensor");
  while (reader.next()) {
    int field = reader.field();
    if ((elements && isDataField(field)) || (newType && field <= 2) || (edit && edit->name && field == 8))
      parts.drop();
    else if (edit && field == 16)
      editMetadata(reader, field, edit->metadata, parts);
    else
      parts.keep(reader);
  }
  if (newType)
    parts.add(typeAndShape(wanted));
  if (edit && edit->name) {
    std::string name;
    putBytes(name, 8, *edit->name);
    parts.add(std::move(name));
  }
  if (edit) {
    std::string metadata;
    putMetadata(metadata, 16, edit->metadata.set);
    parts.add(std::move(metadata));
  }
  if (newType && wanted.dtype == model::ElementType::String)
    addStrings(std::get<model::Tensor>(edit->elements), parts);
  else if (elements)
    addElements(std::move(*elements), wanted.length, external, parts);
  return parts.take();
}

void ExportTemplateBuilder::addNew(const GraphEdit &edit, MessageParts &parts) {
  addNewNodes(edit, 0, parts);
  bool keepsDataOutside = moveWeightsOut || model.usesExternalData;
  for (const NewTensor &added : edit.initializers) {
    model::Tensor none;
    Wanted wanted = wantedOf(none, added.elements);
    MessageParts tensor;
    std::string head = typeAndShape(wanted);
    putBytes(head, 8, added.name);
    putMetadata(head, 16, added.metadata);
    tensor.add(std::move(head));
    bool external =
        keepsDataOutside && wanted.dtype != model::ElementType::String && wanted.length >= smallestExternal;
    if (auto *state = std::get_if<StateElements>(&added.elements))
      addElements(statePiece(*state), wanted.length, external, tensor);
    else if (wanted.dtype == model::ElementType::String)
      addStrings(std::get<model::Tensor>(added.elements), tensor);
    else
      addElements(literalPiece(text(std::get<model::Tensor>(added.elements))), wanted.length, external,
                  tensor);
    parts.addMessage(5, *tensor.take());
  }
  for (const model::ValueInfo &info : edit.valueInfos) {
    std::string out;
    putBytes(out, 13, encodeValueInfo(info));
    parts.add(std::move(out));
  }
  std::string metadata;
  putMetadata(metadata, 16, edit.metadata.set);
  parts.add(std::move(metadata));
}

} // namespace kedge::exporter
