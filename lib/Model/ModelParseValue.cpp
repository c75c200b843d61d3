// ValueInfoProto and TypeProto: declared types and shapes.
#include "lib/Model/ModelParse.h"
#include <fmt/format.h>

namespace kedge::model {

namespace {

Dim parseDim(ParseContext &context, Span span) {
  Dim dim;
  WireReader reader(*context.file, span, "a dimension");
  while (reader.next()) {
    if (reader.field() == 1) {
      int64_t value = reader.varint();
      dim = value >= 0 ? Dim::of(value) : Dim(); // some writers put -1 where they do not know
    } else if (reader.field() == 2) {
      std::string symbol = reader.string();
      dim = symbol.empty() ? Dim() : Dim::named(symbol);
    }
  }
  return dim;
}

void parseTensorType(ParseContext &context, Span span, ValueInfo &info) {
  WireReader reader(*context.file, span, "a tensor type");
  while (reader.next()) {
    if (reader.field() == 1) {
      int64_t type = reader.varint();
      if (type < 0 || type > static_cast<int64_t>(ElementType::Int2))
        reader.damaged(fmt::format("value '{}' has the unknown element type {}", info.name, type));
      info.dtype = static_cast<ElementType>(type);
    } else if (reader.field() == 2) {
      info.hasShape = true;
      info.dims.clear();
      WireReader shape(*context.file, reader.bytes(), "a shape");
      while (shape.next())
        if (shape.field() == 1)
          info.dims.push_back(parseDim(context, shape.bytes()));
    }
  }
}

void parseType(ParseContext &context, Span span, ValueInfo &info, int depth) {
  WireReader reader(*context.file, span, "a type");
  if (depth > maxTypeDepth)
    reader.damaged(fmt::format("types are nested deeper than {}", maxTypeDepth));
  auto inner = [&](int field, ValueInfo::Kind kind) {
    if (depth == 0)
      info.kind = kind;
    WireReader element(*context.file, reader.bytes(), "a container type");
    while (element.next())
      if (element.field() == field)
        parseType(context, element.bytes(), info, depth + 1);
  };
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      if (depth == 0)
        info.kind = ValueInfo::Kind::Tensor;
      parseTensorType(context, reader.bytes(), info);
      break;
    case 4:
      inner(1, ValueInfo::Kind::Sequence);
      break;
    case 5:
      inner(2, ValueInfo::Kind::Map);
      break;
    case 7:
      if (depth == 0)
        info.kind = ValueInfo::Kind::Opaque;
      break;
    case 8:
      if (depth == 0)
        info.kind = ValueInfo::Kind::SparseTensor;
      parseTensorType(context, reader.bytes(), info);
      break;
    case 9:
      inner(1, ValueInfo::Kind::Optional);
      break;
    default:
      break;
    }
  }
}

} // namespace

ValueInfo parseValueInfo(ParseContext &context, Span span) {
  ValueInfo info;
  info.place = span.offset;
  WireReader reader(*context.file, span, "a value");
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      info.name = reader.string();
      break;
    case 2:
      parseType(context, reader.bytes(), info, 0);
      break;
    case 3:
      info.doc = reader.string();
      break;
    case 4:
      info.metadata.insert(parseEntry(context, reader.bytes()));
      break;
    default:
      break;
    }
  }
  return info;
}

} // namespace kedge::model
