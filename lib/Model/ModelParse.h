// From wire format to structs, one function a message type. Field numbers are those of onnx.proto.
#pragma once
#include "lib/Model/Model.h"
#include "lib/Model/ModelWire.h"

namespace kedge::model {

/// What all parse functions share.
struct ParseContext {
  std::shared_ptr<const MappedFile> file;
  const LoadOptions &options;
  bool usesExternalData = false;
  int graphDepth = 0;
};

/// Subgraphs in subgraphs; deeper files are refused instead of exhausting the stack.
constexpr int maxGraphDepth = 64;
constexpr int maxTypeDepth = 16;

Tensor parseTensor(ParseContext &, Span);
Attribute parseAttribute(ParseContext &, Span);
Node parseNode(ParseContext &, Span);
ValueInfo parseValueInfo(ParseContext &, Span);
Graph parseGraph(ParseContext &, Span);
LocalFunction parseFunction(ParseContext &, Span);
TrainingInfo parseTrainingInfo(ParseContext &, Span);
DeviceConfiguration parseDeviceConfiguration(ParseContext &, Span);
NodeDevices parseNodeDevices(ParseContext &, Span);
/// Finds the tensors of the node's sharding specs among its inputs and outputs, whose names may change later.
void bindSpecs(Node &node);
Model parseModelProto(ParseContext &);

/// Key and value of a StringStringEntryProto.
std::pair<std::string, std::string> parseEntry(ParseContext &, Span);
/// Adds an OperatorSetIdProto; "ai.onnx" becomes "".
void parseOpset(ParseContext &, Span, std::map<std::string, int64_t> &opsets);
std::string canonicalDomain(std::string domain);

} // namespace kedge::model
