// An ONNX model as plain structs, which importers, lint and planner read. loadModel()
// maps the file, checks it and returns the model. All errors are kedge::Error. They
// name the file and the place, say what was expected and found, and give a remedy.
#pragma once
#include "lib/Model/ModelTypes.h"
#include "lib/Model/NamedList.h"
#include "lib/Model/Sharding.h"
#include <functional>

namespace kedge::model {

/// Domain of the training operators of training_info: Gradient, Adam, Adagrad, Momentum.
inline constexpr std::string_view trainingDomain = "ai.onnx.preview.training";

struct Node {
  std::string opType;
  std::string domain; // "" is the default domain ("ai.onnx" is read as "")
  std::string name;
  std::string overload;             // which overload of a model-local function is called
  std::vector<std::string> inputs;  // "" is an omitted optional input
  std::vector<std::string> outputs; // "" is an unused optional output
  std::vector<Attribute> attributes;
  Metadata metadata;
  std::string doc;
  std::vector<NodeDevices> devices; // one for each configuration that the node takes part in
  int64_t opset = 0;                // version of `domain` that applies here (functions may import their own)
  int64_t id = -1; // number of the node after inlining, over the model and its subgraphs; keys random numbers
  uint64_t place = 0; // byte offset of the NodeProto in the model file (nodes of a function that was inlined
                      // several times have the same); 0 if the compiler made the node

  bool is(std::string_view type, std::string_view inDomain = "") const {
    return opType == type && domain == inDomain;
  }
  bool hasInput(size_t k) const { return k < inputs.size() && !inputs[k].empty(); }
  bool hasOutput(size_t k) const { return k < outputs.size() && !outputs[k].empty(); }
  /// The name, or "" when the operand is omitted.
  const std::string &input(size_t k) const;
  const std::string &output(size_t k) const;

  /// What the node says of a device configuration; null: nothing.
  const NodeDevices *devicesFor(std::string_view configuration) const;
  /// The name, now, of the tensor that a spec of the node is of.
  const std::string &tensorOf(const ShardingSpec &spec) const;

  const Attribute *find(std::string_view name) const;
  Attribute *find(std::string_view name);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// With a default: the default if the attribute is absent. Without one, absence is an
  /// error. A value of another kind is always an error that names node and attribute.
  int64_t attrInt(std::string_view name) const;
  int64_t attrInt(std::string_view name, int64_t otherwise) const;
  bool attrBool(std::string_view name, bool otherwise) const { return attrInt(name, otherwise) != 0; }
  float attrFloat(std::string_view name) const;
  float attrFloat(std::string_view name, float otherwise) const;
  std::string attrString(std::string_view name) const;
  std::string attrString(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> attrInts(std::string_view name) const;
  std::vector<int64_t> attrInts(std::string_view name, std::vector<int64_t> otherwise) const;
  /// nullopt when absent.
  std::optional<std::vector<int64_t>> attrIntsIf(std::string_view name) const;
  std::vector<float> attrFloats(std::string_view name, std::vector<float> otherwise = {}) const;
  std::vector<std::string> attrStrings(std::string_view name, std::vector<std::string> otherwise = {}) const;
  const Tensor &attrTensor(std::string_view name) const;
  const Tensor *attrTensorIf(std::string_view name) const;
  const Graph &attrGraph(std::string_view name) const;
  const Graph *attrGraphIf(std::string_view name) const;

  /// Adds the attribute, or replaces the one with its name.
  void set(Attribute);
  void erase(std::string_view name);

  /// A metadata value, or "" if absent.
  const std::string &meta(const std::string &key) const;
  /// "node '/layer/MatMul' (MatMul)"; unnamed nodes are named by their first output.
  std::string describe() const;
};

/// One dimension of a declared shape.
struct Dim {
  enum class Kind { Value, Symbol, Unknown } kind = Kind::Unknown;
  int64_t value = -1;
  std::string symbol;

  static Dim of(int64_t v) { return {Kind::Value, v, {}}; }
  static Dim named(std::string s) { return {Kind::Symbol, -1, std::move(s)}; }
  bool isValue() const { return kind == Kind::Value; }
  bool operator==(const Dim &) const = default;
  std::string str() const; // "8", "batch", "?"
};

struct ValueInfo {
  enum class Kind { Tensor, SparseTensor, Sequence, Map, Optional, Opaque, Untyped };
  std::string name;
  Kind kind = Kind::Untyped;
  ElementType dtype =
      ElementType::Undefined; // element type; for Sequence and Optional that of the inner tensor
  bool hasShape = false;      // false: rank unknown
  std::vector<Dim> dims;
  std::string doc;
  Metadata metadata;
  uint64_t place = 0;           // byte offset of the ValueInfoProto in the model file; 0 when not from a file
  std::string describe() const; // "'x' (float32[batch x 3])"
};

struct Graph {
  std::string name;
  std::vector<Node> nodes; // in topological order
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  NamedList<Tensor> initializers;
  NamedList<ValueInfo> valueInfos;
  std::string doc;
  Metadata metadata;
  uint64_t place = 0;

  const Tensor *findInitializer(std::string_view name) const;
  const ValueInfo *findInput(std::string_view name) const;
  const ValueInfo *findOutput(std::string_view name) const;
  /// Searches inputs, outputs and valueInfos.
  const ValueInfo *findValueInfo(std::string_view name) const;
  /// Inputs that a caller must provide: those without an initializer of the same name.
  std::vector<const ValueInfo *> feeds() const;
};

/// A model-local function. Inlining removes all of them.
struct LocalFunction {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes; // without default
  std::vector<Attribute> attributeDefaults;
  std::vector<Node> nodes;
  std::vector<ValueInfo> valueInfos;
  std::map<std::string, int64_t> opsets;
  std::string doc;
  Metadata metadata;
};

/// ONNX TrainingInfoProto. Bindings: first = initializer of the main or training graphs, second = graph
/// output.
struct TrainingInfo {
  std::optional<Graph> initialization;
  std::optional<Graph> algorithm;
  std::vector<std::pair<std::string, std::string>> initializationBinding;
  std::vector<std::pair<std::string, std::string>> updateBinding;
};

struct Model {
  std::string path;
  int64_t irVersion = 0;
  std::map<std::string, int64_t> opsets; // domain -> version
  std::string producer, producerVersion, domain, doc;
  int64_t modelVersion = 0;
  Graph graph;
  std::vector<std::string> fileInputs;  // what the file asks a caller for, whatever is settled of it
  std::vector<LocalFunction> functions; // empty after inlining
  std::vector<TrainingInfo> trainingInfo;
  std::vector<DeviceConfiguration> configurations;
  /// Calls of functions, which inlining removed, with the configuration that they said something of.
  std::vector<std::pair<std::string, std::string>> annotatedCalls; // configuration, node
  Metadata metadata;
  std::vector<Node> lowered; // nodes of the file that others, without a place, stand for: lowerMicrosoft()
  /// The result of hashGraph() with all Inline initializers as the weights.
  std::string graphHash;
  bool usesExternalData = false; // whether any initializer of the file lies in another file
  std::shared_ptr<const MappedFile> file;
};

struct LoadOptions {
  /// Report missing or short external files as errors. Otherwise only their names, offsets and lengths are
  /// read.
  bool requireExternalData = true;
  /// Inline model-local functions; this also gives nodes their ids.
  bool inlineFunctions = true;
};

Model loadModel(const std::string &path, const LoadOptions & = {});
/// Like loadModel, but from bytes. `path` is used in messages, and its folder is where external data are.
Model parseModel(std::vector<uint8_t> bytes, const std::string &path, const LoadOptions & = {});

/// The device configurations of a file, without reading the rest of it.
std::vector<DeviceConfiguration> deviceConfigurations(const std::string &path);

/// Replaces calls of model-local functions by their bodies, recursively, and renumbers
/// node ids. Values inside get names "<call name>/<inner name>", made unique. Nodes
/// inside keep their metadata and get the keys of the call that they lack.
void inlineFunctions(Model &);

/// The value of a Constant node in any of its forms (value, value_float, value_ints, ...), named after its
/// output.
Tensor constantValue(const Node &);

/// 16 hex digits that identify the model file without the bytes of the given Inline
/// weights; their offsets and lengths are hashed instead. For external weights these are
/// part of the file anyway. The same as rt::hashGraph, which the program computes at start.
std::string hashGraph(const Model &, const std::vector<const Tensor *> &weights);

/// Calls `visit` for every node; nodes of subgraphs come after the node that owns the subgraph.
void forEachNode(const Graph &, const std::function<void(const Node &)> &visit);
void forEachNode(Graph &, const std::function<void(Node &)> &visit);

} // namespace kedge::model
