// What changes between the ONNX file that was compiled and the one that the program exports.
// Everything is found by its byte place in the original file (`place` of model::Tensor, Node, ValueInfo,
// Graph), which stays valid when nodes are inlined, sorted or repaired in the structs. What no edit touches
// is kept byte for byte.
#pragma once
#include "kedge/Model/Model.h"
#include <variant>

namespace kedge::exporter {

/// Elements that the running program holds: state's values, converted to `dtype`, `dims` row-major in the
/// file.
struct StateElements {
  std::string state; // name of the state in the program
  model::DType dtype = model::DType::Float;
  std::vector<int64_t> dims;
};

struct MetadataEdit {
  model::Metadata set;
  std::vector<std::string> erase;
  bool empty() const { return set.empty() && erase.empty(); }
};

/// For an initializer, or the tensor of a Constant node.
struct TensorEdit {
  bool remove = false; // initializers only
  std::optional<std::string> name;
  /// New elements with type and shape; without, they stay.
  std::variant<std::monostate, StateElements, model::Tensor> elements;
  MetadataEdit metadata;
};

struct NodeEdit {
  bool remove = false;
  std::optional<std::string> name, opType;
  std::optional<std::vector<std::string>> inputs, outputs; // whole lists, as the file names them
  std::optional<size_t> keepInputs, keepOutputs;           // only the first so many
  std::vector<model::Attribute> set;                       // added or replaced
  std::vector<std::string> erase;
  MetadataEdit metadata;
};

/// For graph inputs, outputs and value infos.
struct ValueEdit {
  bool remove = false;
  std::optional<std::string> name;
  MetadataEdit metadata;
};

struct NewTensor {
  std::string name;
  std::variant<StateElements, model::Tensor> elements;
  model::Metadata metadata;
};

struct NewNode {
  uint64_t before = 0; // place of the node that it precedes; 0: behind the last one
  model::Node node;
};

struct GraphEdit {
  std::vector<NewTensor> initializers;
  std::vector<NewNode> nodes;
  std::vector<model::ValueInfo> valueInfos;
  MetadataEdit metadata;
};

struct Edits {
  std::map<uint64_t, TensorEdit> tensors;
  std::map<uint64_t, NodeEdit> nodes;
  std::map<uint64_t, ValueEdit> values;
  std::map<uint64_t, GraphEdit> graphs;

  /// The initializer takes its elements from a state of the same type and shape as the file's.
  void fromState(const model::Tensor &tensor, std::string state);
};

/// Adds what puts Dropout and BatchNormalization into inference mode (functions' bodies too). Nodes that must
/// stay as they are, because something reads their training outputs, are described in the result.
std::vector<std::string> setInferenceMode(const model::Model &, Edits &);

} // namespace kedge::exporter
