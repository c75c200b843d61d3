// The differences between the ONNX file that was compiled and the file that the program
// exports. Everything is identified by its byte offset in the original file (`place` of
// model::Tensor, Node, ValueInfo, Graph). Offsets stay valid when nodes are inlined,
// sorted or repaired in the structs. Bytes that no edit changes are kept as they are.
#pragma once
#include "lib/Model/Model.h"
#include <optional>
#include <variant>

namespace kedge::exporter {

/// States of a BatchNormalization, and maybe the bias of the convolution before it.
struct NormStates {
  std::string scale, bias, mean, variance, productBias;
  double epsilon = 0;
};

/// What an exported file of integers has of a state: a weight, or the lower end of a range whose other end is
/// the state `max`. The integers are `low` to `high`; scales are one, one for each index of `axis`, or one
/// for each block along it (runtime/format/Integers.h). Packed: as MatMulNBits reads them. Of a bias: codes
/// of 32 bits, whose steps are the weight's and the input's. `learned` is a state that is added to a range's
/// scale.
struct IntegerPart {
  enum class Kind { Codes, Scales, ZeroPoints, Bias, Packed, PackedScales, BiasScales } kind = Kind::Codes;
  int64_t low = 0, high = 0;
  int64_t axis = -1, block = 0;
  std::string max, learned;
  std::string min, bias; // of a bias: the lower end of its product's input, and the state, if no norm is it
  int64_t inputLow = 0, inputHigh = 0;
  std::optional<NormStates> norm = {}; // multiplied into the weight
};

/// Elements from the running program: the values of a state,
/// converted to `dtype`. `dims` is the row-major shape in the file.
struct StateElements {
  std::string state; // name of the state in the program
  model::ElementType dtype = model::ElementType::Float;
  std::vector<int64_t> dims;
  std::optional<IntegerPart> integers = {}; // nothing: the values themselves
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
  /// New elements with type and shape; if not set, the elements stay as they are.
  std::variant<std::monostate, StateElements, model::Tensor> elements;
  MetadataEdit metadata;
};

struct NodeEdit {
  bool remove = false;
  std::optional<std::string> name, opType;
  std::optional<std::vector<std::string>> inputs, outputs; // whole lists, as the file names them
  std::optional<size_t> keepInputs, keepOutputs;           // keep only the first N
  std::vector<model::Attribute> set;                       // added or replaced
  std::vector<std::string> erase;
  MetadataEdit metadata;
};

/// For graph inputs, outputs and value infos.
struct ValueEdit {
  bool remove = false;
  std::optional<model::ValueInfo> replaced; ///< by this one, with its metadata; nothing else is looked at
  std::optional<std::string> name;
  MetadataEdit metadata;
};

struct NewTensor {
  std::string name;
  std::variant<StateElements, model::Tensor> elements;
  model::Metadata metadata;
};

struct NewNode {
  uint64_t before = 0; // place of the node that this one is inserted before; 0: insert at the end
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
  std::map<std::string, int64_t> domains; ///< operators of the added nodes, with their version

  /// The initializer gets the values of a state of the same type and shape.
  void fromState(const model::Tensor &tensor, std::string state);
};

/// Adds the edits that set Dropout and BatchNormalization to inference mode, also in bodies of functions.
/// Returns a description of each node that must stay in training mode because its training outputs are read.
std::vector<std::string> setInferenceMode(const model::Model &, Edits &);

/// Adds the edits that set Dropout and BatchNormalization of the main graph to training mode where `trained`
/// has it and `before` does not. Returns a sentence on those that stay as they are, since the file's opset
/// has no such mode.
std::vector<std::string> setTrainingMode(const model::Model &before, const model::Model &trained,
                                         Edits &edits);

} // namespace kedge::exporter
