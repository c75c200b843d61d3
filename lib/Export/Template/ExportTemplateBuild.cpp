#include "lib/Export/Template/ExportTemplateBuilder.h"
#include "lib/Support/Error.h"
#include <algorithm>

namespace kedge::exporter {

Piece literalPiece(std::string text) {
  Piece piece;
  piece.text = std::move(text);
  return piece;
}

void MessageParts::keep(const model::WireReader &reader) {
  uint64_t begin = reader.place(), end = reader.placeEnd();
  if (!pieces.empty()) {
    Piece &last = pieces.back();
    if (last.kind == Piece::Kind::Original && last.range.offset + last.range.length == begin) {
      last.range.length += end - begin;
      return;
    }
  }
  Piece piece;
  piece.kind = Piece::Kind::Original;
  piece.range = {"", begin, end - begin};
  pieces.push_back(std::move(piece));
}

void MessageParts::keepOr(const model::WireReader &reader, Rewritten rewritten) {
  if (rewritten)
    addMessage(reader.field(), std::move(*rewritten));
  else
    keep(reader);
}

void MessageParts::add(std::string literal) {
  if (literal.empty())
    return;
  changed = true;
  pieces.push_back(literalPiece(std::move(literal)));
}

void MessageParts::addMessage(int field, Pieces parts) {
  changed = true;
  Piece piece;
  piece.kind = Piece::Kind::Message;
  piece.field = field;
  piece.parts = std::move(parts);
  pieces.push_back(std::move(piece));
}

uint64_t sizeOf(const Pieces &pieces) {
  uint64_t total = 0;
  for (const Piece &piece : pieces) {
    switch (piece.kind) {
    case Piece::Kind::Literal:
      total += piece.text.size();
      break;
    case Piece::Kind::Original:
    case Piece::Kind::Copied:
      total += piece.range.length;
      break;
    case Piece::Kind::State: {
      uint64_t elements = 1;
      for (int64_t d : piece.state.dims)
        elements *= static_cast<uint64_t>(d);
      total += elements * model::dtypeBits(piece.state.dtype) / 8;
      break;
    }
    case Piece::Kind::Message: {
      uint64_t inner = sizeOf(piece.parts);
      total += inner + messagePrefix(piece.field, inner).size();
      break;
    }
    case Piece::Kind::ExternalName:
      total += 255;
      break;
    case Piece::Kind::Align:
      break;
    }
  }
  return total;
}

ExportTemplateBuilder::ExportTemplateBuilder(const model::Model &model, const Edits &edits,
                                             const ExportTemplateOptions &options, bool moveWeightsOut)
    : model(model), edits(edits), options(options), moveWeightsOut(moveWeightsOut),
      loadOptions{.requireExternalData = false, .inlineFunctions = false}, context{model.file, loadOptions} {}

void ExportTemplateBuilder::editMetadata(model::WireReader &reader, int field, const MetadataEdit &edit,
                                         MessageParts &parts) {
  std::string key = model::parseEntry(context, reader.bytes()).first;
  bool goes =
      edit.set.contains(key) || std::find(edit.erase.begin(), edit.erase.end(), key) != edit.erase.end();
  if (goes)
    parts.drop();
  else
    parts.keep(reader);
}

Rewritten ExportTemplateBuilder::rewriteValue(model::Span span) {
  const ValueEdit *edit = find(edits.values, span.offset);
  if (!edit)
    return std::nullopt;
  if (edit->replaced)
    return Pieces{literalPiece(encodeValueInfo(*edit->replaced))};
  MessageParts parts;
  model::WireReader reader(*context.file, span, "a value");
  while (reader.next()) {
    if (reader.field() == 1 && edit->name)
      parts.drop();
    else if (reader.field() == 4)
      editMetadata(reader, 4, edit->metadata, parts);
    else
      parts.keep(reader);
  }
  std::string added;
  if (edit->name)
    putBytes(added, 1, *edit->name);
  putMetadata(added, 4, edit->metadata.set);
  parts.add(std::move(added));
  return parts.take();
}

Rewritten ExportTemplateBuilder::rewriteAttribute(model::Span span) {
  MessageParts parts;
  model::WireReader reader(*context.file, span, "an attribute");
  while (reader.next()) {
    if (reader.field() == 5 || reader.field() == 10)
      parts.keepOr(reader, rewriteTensor(reader.bytes()));
    else if (reader.field() == 6 || reader.field() == 11)
      parts.keepOr(reader, rewriteGraph(reader.bytes()));
    else
      parts.keep(reader);
  }
  return parts.take();
}

/// Floats whose numbers come from a running program (Edits::fromState).
static bool isOfState(const model::Attribute &attribute) {
  return attribute.kind == model::Attribute::Kind::Floats && !attribute.tensors.empty();
}

/// Packed: the elements stand one after the other.
static Pieces attributeOfState(const model::Attribute &attribute) {
  constexpr uint64_t floats = 6; // AttributeProto.FLOATS
  const model::Tensor &numbers = *attribute.tensors.front();
  std::string head;
  putBytes(head, 1, attribute.name);
  putVarint(head, 20, floats);
  Piece state;
  state.kind = Piece::Kind::State;
  state.state = {numbers.name, numbers.dtype, numbers.dims};
  Piece values;
  values.kind = Piece::Kind::Message;
  values.field = 7;
  values.parts = {std::move(state)};
  return {literalPiece(std::move(head)), std::move(values)};
}

Rewritten ExportTemplateBuilder::rewriteNode(model::Span span) {
  const NodeEdit *given = find(edits.nodes, span.offset);
  static const NodeEdit noEdit;
  const NodeEdit &edit = given ? *given : noEdit;
  size_t inputs = 0, outputs = 0;
  MessageParts parts;
  model::WireReader reader(*context.file, span, "a node");
  auto keepIf = [&](bool keep) { keep ? parts.keep(reader) : parts.drop(); };
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      keepIf(!edit.inputs && (!edit.keepInputs || inputs < *edit.keepInputs));
      ++inputs;
      break;
    case 2:
      keepIf(!edit.outputs && (!edit.keepOutputs || outputs < *edit.keepOutputs));
      ++outputs;
      break;
    case 3:
      keepIf(!edit.name);
      break;
    case 4:
      keepIf(!edit.opType);
      break;
    case 5: {
      std::string name = model::parseAttribute(context, reader.bytes()).name;
      bool replaced = std::find(edit.erase.begin(), edit.erase.end(), name) != edit.erase.end() ||
                      std::any_of(edit.set.begin(), edit.set.end(), [&](auto &a) { return a.name == name; });
      if (replaced)
        parts.drop();
      else
        parts.keepOr(reader, rewriteAttribute(reader.bytes()));
      break;
    }
    case 9:
      editMetadata(reader, 9, edit.metadata, parts);
      break;
    default:
      parts.keep(reader);
    }
  }
  std::string added;
  for (const std::string &input : edit.inputs.value_or(std::vector<std::string>()))
    putBytes(added, 1, input);
  for (const std::string &output : edit.outputs.value_or(std::vector<std::string>()))
    putBytes(added, 2, output);
  if (edit.name)
    putBytes(added, 3, *edit.name);
  if (edit.opType)
    putBytes(added, 4, *edit.opType);
  for (const model::Attribute &a : edit.set)
    if (!isOfState(a))
      putBytes(added, 5, encodeAttribute(a));
  putMetadata(added, 9, edit.metadata.set);
  parts.add(std::move(added));
  for (const model::Attribute &a : edit.set)
    if (isOfState(a))
      parts.addMessage(5, attributeOfState(a));
  return parts.take();
}

void ExportTemplateBuilder::addNewNodes(const GraphEdit &edit, uint64_t before, MessageParts &parts) {
  for (const NewNode &added : edit.nodes)
    if (added.before == before) {
      std::string out;
      putBytes(out, 1, encodeNode(added.node));
      parts.add(std::move(out));
    }
}

bool ExportTemplateBuilder::rewriteRemovable(const model::WireReader &reader, model::Span span,
                                             MessageParts &parts) {
  auto isRemoved = [&](const auto &all) {
    const auto *edit = find(all, span.offset);
    return edit && edit->remove;
  };
  switch (reader.field()) {
  case 1:
    isRemoved(edits.nodes) ? parts.drop() : parts.keepOr(reader, rewriteNode(span));
    return true;
  case 5:
    isRemoved(edits.tensors) ? parts.drop() : parts.keepOr(reader, rewriteTensor(span));
    return true;
  case 11:
  case 12:
  case 13:
    isRemoved(edits.values) ? parts.drop() : parts.keepOr(reader, rewriteValue(span));
    return true;
  default:
    return false;
  }
}

Rewritten ExportTemplateBuilder::rewriteGraph(model::Span span) {
  const GraphEdit *edit = find(edits.graphs, span.offset);
  std::set<uint64_t> nodes{0};
  MessageParts parts;
  model::WireReader reader(*context.file, span, "a graph");
  bool isNamed = false; // as ONNX's checker wants it
  while (reader.next()) {
    isNamed |= reader.field() == 2 && reader.bytes().length > 0;
    bool isMessage = reader.type() == model::WireReader::Type::Bytes;
    if (edit && reader.field() == 1) {
      addNewNodes(*edit, reader.bytes().offset, parts);
      nodes.insert(reader.bytes().offset);
    }
    if (isMessage && rewriteRemovable(reader, reader.bytes(), parts))
      continue;
    if (edit && reader.field() == 16)
      editMetadata(reader, 16, edit->metadata, parts);
    else
      parts.keep(reader);
  }
  if (edit) {
    for (const NewNode &added : edit->nodes)
      if (!nodes.contains(added.before))
        fail("{}: {} should go before the node at byte {}, which the graph does not have", model.path,
             added.node.describe(), added.before);
    addNew(*edit, parts);
  }
  if (!isNamed) {
    std::string name;
    putBytes(name, 2, std::string("graph"));
    parts.add(std::move(name));
  }
  return parts.take();
}

Rewritten ExportTemplateBuilder::rewriteFunction(model::Span span) {
  MessageParts parts;
  model::WireReader reader(*context.file, span, "a function");
  while (reader.next()) {
    if (reader.field() == 7) {
      const NodeEdit *edit = find(edits.nodes, reader.bytes().offset);
      edit && edit->remove ? parts.drop() : parts.keepOr(reader, rewriteNode(reader.bytes()));
    } else if (reader.field() == 11) {
      parts.keepOr(reader, rewriteAttribute(reader.bytes()));
    } else if (reader.field() == 12) {
      parts.keepOr(reader, rewriteValue(reader.bytes()));
    } else {
      parts.keep(reader);
    }
  }
  return parts.take();
}

Rewritten ExportTemplateBuilder::rewriteTraining(model::Span span) {
  MessageParts parts;
  model::WireReader reader(*context.file, span, "training information");
  while (reader.next())
    if (reader.field() == 1 || reader.field() == 2)
      parts.keepOr(reader, rewriteGraph(reader.bytes()));
    else
      parts.keep(reader);
  return parts.take();
}

Rewritten ExportTemplateBuilder::rewriteModel(model::Span span) {
  MessageParts parts;
  model::WireReader reader(*context.file, span, "the model");
  while (reader.next()) {
    if (reader.field() == 7)
      parts.keepOr(reader, rewriteGraph(reader.bytes()));
    else if (reader.field() == 20)
      parts.keepOr(reader, rewriteTraining(reader.bytes()));
    else if (reader.field() == 25)
      parts.keepOr(reader, rewriteFunction(reader.bytes()));
    else
      parts.keep(reader);
  }
  for (const auto &[domain, version] : edits.domains)
    if (!model.opsets.contains(domain)) {
      std::string import, added;
      putBytes(import, 1, domain);
      putVarint(import, 2, static_cast<uint64_t>(version));
      putBytes(added, 8, import);
      parts.add(std::move(added));
    }
  return parts.take();
}

void ExportTemplateBuilder::checkAllUsed() const {
  auto check = [&](const auto &all, std::string_view what) {
    for (const auto &entry : all)
      if (!used.contains(entry.first))
        fail("{}: there is no {} at byte {} to change for the export", model.path, what, entry.first);
  };
  check(edits.tensors, "tensor");
  check(edits.nodes, "node");
  check(edits.values, "value");
  check(edits.graphs, "graph");
}

ExportTemplate ExportTemplateBuilder::build() {
  model::Span whole{0, model.file->size()};
  if (Rewritten parts = rewriteModel(whole)) {
    skeleton.model = std::move(*parts);
  } else {
    Piece piece;
    piece.kind = Piece::Kind::Original;
    piece.range = {"", 0, whole.length};
    skeleton.model = {piece};
  }
  checkAllUsed();
  return std::move(skeleton);
}

ExportTemplate buildExportTemplate(const model::Model &model, const Edits &edits,
                                   const ExportTemplateOptions &options) {
  ExportTemplate skeleton = ExportTemplateBuilder(model, edits, options, false).build();
  if (sizeOf(skeleton.model) > options.maxModelBytes)
    skeleton = ExportTemplateBuilder(model, edits, options, true).build();
  return skeleton;
}

} // namespace kedge::exporter
