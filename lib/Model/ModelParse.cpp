// Nodes, attributes, graphs, functions, training information and the model itself.
#include "lib/Model/ModelParse.h"
#include "lib/Support/Error.h"

namespace kedge::model {

std::string canonicalDomain(std::string domain) { return domain == "ai.onnx" ? std::string() : domain; }

std::pair<std::string, std::string> parseEntry(ParseContext &context, Span span) {
  std::pair<std::string, std::string> entry;
  WireReader reader(*context.file, span, "a key-value entry");
  while (reader.next()) {
    if (reader.field() == 1)
      entry.first = reader.string();
    else if (reader.field() == 2)
      entry.second = reader.string();
  }
  return entry;
}

void parseOpset(ParseContext &context, Span span, std::map<std::string, int64_t> &opsets) {
  std::string domain;
  int64_t version = 0;
  WireReader reader(*context.file, span, "an opset import");
  while (reader.next()) {
    if (reader.field() == 1)
      domain = canonicalDomain(reader.string());
    else if (reader.field() == 2)
      version = reader.varint();
  }
  auto [entry, isNew] = opsets.emplace(domain, version);
  if (domain.empty()) // under its two names: the last one counts, as onnxruntime reads it
    entry->second = version;
  if (!isNew && entry->second != version)
    reader.damaged(
        fmt::format("domain '{}' is imported twice, as version {} and {}", domain, entry->second, version));
}

static std::shared_ptr<Graph> parseSubgraph(ParseContext &context, Span span) {
  if (++context.graphDepth > maxGraphDepth)
    fail("{}: graphs are nested deeper than {} at byte {}; expected a model without such nesting",
         context.file->path(), maxGraphDepth, span.offset);
  auto graph = std::make_shared<Graph>(parseGraph(context, span));
  --context.graphDepth;
  return graph;
}

/// Older writers leave out the attribute's type: the field that is there tells it.
static Attribute::Kind kindOfField(int field) {
  switch (field) {
  case 2:
    return Attribute::Kind::Float;
  case 3:
    return Attribute::Kind::Int;
  case 4:
    return Attribute::Kind::String;
  case 5:
    return Attribute::Kind::Tensor;
  case 6:
    return Attribute::Kind::Graph;
  case 7:
    return Attribute::Kind::Floats;
  case 8:
    return Attribute::Kind::Ints;
  case 9:
    return Attribute::Kind::Strings;
  case 10:
    return Attribute::Kind::Tensors;
  case 11:
    return Attribute::Kind::Graphs;
  case 14:
    return Attribute::Kind::TypeProto;
  case 15:
    return Attribute::Kind::TypeProtos;
  case 22:
    return Attribute::Kind::SparseTensor;
  case 23:
    return Attribute::Kind::SparseTensors;
  default:
    return Attribute::Kind::Undefined;
  }
}

static void checkAttribute(WireReader &reader, const Attribute &a) {
  bool missing = (a.kind == Attribute::Kind::Tensor && a.tensors.empty()) ||
                 (a.kind == Attribute::Kind::Graph && a.graphs.empty());
  if (missing && a.refAttrName.empty())
    reader.damaged(
        fmt::format("attribute '{}' is said to be a {}, but has none", a.name, attributeKindName(a.kind)));
}

Attribute parseAttribute(ParseContext &context, Span span) {
  Attribute a;
  Attribute::Kind implied = Attribute::Kind::Undefined;
  WireReader reader(*context.file, span, "an attribute");
  while (reader.next()) {
    if (kindOfField(reader.field()) != Attribute::Kind::Undefined)
      implied = kindOfField(reader.field());
    switch (reader.field()) {
    case 1:
      a.name = reader.string();
      break;
    case 2:
      a.f = reader.fixed32();
      break;
    case 3:
      a.i = reader.varint();
      break;
    case 4:
      a.s = reader.byteString();
      break;
    case 5:
      a.tensors.push_back(std::make_shared<Tensor>(parseTensor(context, reader.bytes())));
      break;
    case 6:
      a.graphs.push_back(parseSubgraph(context, reader.bytes()));
      break;
    case 7:
      reader.floats([&](float v) { a.floats.push_back(v); });
      break;
    case 8:
      reader.varints([&](int64_t v) { a.ints.push_back(v); });
      break;
    case 9:
      a.strings.push_back(reader.byteString());
      break;
    case 10:
      a.tensors.push_back(std::make_shared<Tensor>(parseTensor(context, reader.bytes())));
      break;
    case 11:
      a.graphs.push_back(parseSubgraph(context, reader.bytes()));
      break;
    case 13:
      a.doc = reader.string();
      break;
    case 20: {
      int64_t kind = reader.varint();
      if (kind < 0 || kind > static_cast<int64_t>(Attribute::Kind::TypeProtos))
        reader.damaged(fmt::format("attribute '{}' has the unknown type {}", a.name, kind));
      a.kind = static_cast<Attribute::Kind>(kind);
      break;
    }
    case 21:
      a.refAttrName = reader.string();
      break;
    default:
      break;
    }
  }
  if (a.kind == Attribute::Kind::Undefined)
    a.kind = implied;
  checkAttribute(reader, a);
  return a;
}

Node parseNode(ParseContext &context, Span span) {
  Node node;
  node.place = span.offset;
  WireReader reader(*context.file, span, "a node");
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      node.inputs.push_back(reader.string());
      break;
    case 2:
      node.outputs.push_back(reader.string());
      break;
    case 3:
      node.name = reader.string();
      break;
    case 4:
      node.opType = reader.string();
      break;
    case 5:
      node.attributes.push_back(parseAttribute(context, reader.bytes()));
      break;
    case 6:
      node.doc = reader.string();
      break;
    case 7:
      node.domain = canonicalDomain(reader.string());
      break;
    case 8:
      node.overload = reader.string();
      break;
    case 9:
      node.metadata.insert(parseEntry(context, reader.bytes()));
      break;
    case 10:
      node.devices.push_back(parseNodeDevices(context, reader.bytes()));
      break;
    default:
      break;
    }
  }
  bindSpecs(node);
  if (node.opType.empty())
    reader.damaged("node '" + node.name + "' has no operator type");
  for (size_t k = 0; k < node.attributes.size(); ++k)
    for (size_t j = 0; j < k; ++j)
      if (node.attributes[k].name == node.attributes[j].name)
        reader.damaged(
            fmt::format("{} has the attribute '{}' twice", node.describe(), node.attributes[k].name));
  return node;
}

Graph parseGraph(ParseContext &context, Span span) {
  Graph graph;
  graph.place = span.offset;
  WireReader reader(*context.file, span, "a graph");
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      graph.nodes.push_back(parseNode(context, reader.bytes()));
      break;
    case 2:
      graph.name = reader.string();
      break;
    case 5:
      graph.initializers.push_back(parseTensor(context, reader.bytes()));
      break;
    case 10:
      graph.doc = reader.string();
      break;
    case 11:
      graph.inputs.push_back(parseValueInfo(context, reader.bytes()));
      break;
    case 12:
      graph.outputs.push_back(parseValueInfo(context, reader.bytes()));
      break;
    case 13:
      graph.valueInfos.push_back(parseValueInfo(context, reader.bytes()));
      break;
    case 15:
      fail("{}: graph '{}' has a sparse initializer at byte {}; expected dense initializers. "
           "Convert it to a dense tensor before export",
           context.file->path(), graph.name, reader.place());
    case 16:
      graph.metadata.insert(parseEntry(context, reader.bytes()));
      break;
    default:
      break;
    }
  }
  return graph;
}

LocalFunction parseFunction(ParseContext &context, Span span) {
  LocalFunction function;
  WireReader reader(*context.file, span, "a function");
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      function.name = reader.string();
      break;
    case 4:
      function.inputs.push_back(reader.string());
      break;
    case 5:
      function.outputs.push_back(reader.string());
      break;
    case 6:
      function.attributes.push_back(reader.string());
      break;
    case 7:
      function.nodes.push_back(parseNode(context, reader.bytes()));
      break;
    case 8:
      function.doc = reader.string();
      break;
    case 9:
      parseOpset(context, reader.bytes(), function.opsets);
      break;
    case 10:
      function.domain = canonicalDomain(reader.string());
      break;
    case 11:
      function.attributeDefaults.push_back(parseAttribute(context, reader.bytes()));
      break;
    case 12:
      function.valueInfos.push_back(parseValueInfo(context, reader.bytes()));
      break;
    case 13:
      function.overload = reader.string();
      break;
    case 14:
      function.metadata.insert(parseEntry(context, reader.bytes()));
      break;
    default:
      break;
    }
  }
  return function;
}

TrainingInfo parseTrainingInfo(ParseContext &context, Span span) {
  TrainingInfo info;
  WireReader reader(*context.file, span, "training information");
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      info.initialization = parseGraph(context, reader.bytes());
      break;
    case 2:
      info.algorithm = parseGraph(context, reader.bytes());
      break;
    case 3:
      info.initializationBinding.push_back(parseEntry(context, reader.bytes()));
      break;
    case 4:
      info.updateBinding.push_back(parseEntry(context, reader.bytes()));
      break;
    default:
      break;
    }
  }
  return info;
}

Model parseModelProto(ParseContext &context) {
  Model model;
  model.path = context.file->path();
  model.file = context.file;
  bool hasGraph = false;
  WireReader reader(*context.file, {0, context.file->size()}, "the model");
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      model.irVersion = reader.varint();
      break;
    case 2:
      model.producer = reader.string();
      break;
    case 3:
      model.producerVersion = reader.string();
      break;
    case 4:
      model.domain = reader.string();
      break;
    case 5:
      model.modelVersion = reader.varint();
      break;
    case 6:
      model.doc = reader.string();
      break;
    case 7:
      if (hasGraph)
        reader.damaged("the model has two graphs");
      model.graph = parseGraph(context, reader.bytes());
      hasGraph = true;
      break;
    case 8:
      parseOpset(context, reader.bytes(), model.opsets);
      break;
    case 14:
      model.metadata.insert(parseEntry(context, reader.bytes()));
      break;
    case 20:
      model.trainingInfo.push_back(parseTrainingInfo(context, reader.bytes()));
      break;
    case 25:
      model.functions.push_back(parseFunction(context, reader.bytes()));
      break;
    case 26:
      model.configurations.push_back(parseDeviceConfiguration(context, reader.bytes()));
      break;
    default:
      break;
    }
  }
  if (!hasGraph)
    fail("{}: expected an ONNX model, found a file without a graph ({} bytes)", model.path,
         context.file->size());
  model.usesExternalData = context.usesExternalData;
  return model;
}

} // namespace kedge::model
