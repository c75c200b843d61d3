// Encodes ONNX structs that an edit brings into the file, in protobuf's wire format.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::exporter {

/// Appenders of one field each.
void putVarint(std::string &out, int field, uint64_t value);
void putBytes(std::string &out, int field, std::string_view bytes);
void putFloat(std::string &out, int field, float value);
void putEntry(std::string &out, int field, const std::string &key, const std::string &value);
void putMetadata(std::string &out, int field, const model::Metadata &);
/// The tag and length prefix of a length-delimited field.
std::string messagePrefix(int field, uint64_t length);

std::string encodeAttribute(const model::Attribute &);
std::string encodeNode(const model::Node &);
/// TensorProto with raw_data (string_data for strings).
std::string encodeTensor(const model::Tensor &);
std::string encodeValueInfo(const model::ValueInfo &);
std::string encodeGraph(const model::Graph &);

} // namespace kedge::exporter
