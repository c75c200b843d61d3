// What writes one operator of another domain as operators of ONNX's own.
#pragma once
#include "lib/Model/Model.h"
#include <fmt/format.h>
#include <initializer_list>
#include <set>

namespace kedge::model {

/// Why a form of an operator stays as it is: it is then refused by this sentence.
struct NotLowered {
  std::string why;
};

/// What is known of values around a node while it is written anew.
class Surroundings {
public:
  explicit Surroundings(const Model &);
  /// The number of dimensions, where the file or what makes the value says it.
  std::optional<size_t> rankOf(const std::string &value) const;
  /// Of initializers alone.
  const Tensor *initializer(const std::string &value) const;
  /// Of initializers and Constants.
  const Tensor *constantOf(const std::string &value) const;
  bool isRead(const std::string &value) const { return reads.count(value) != 0; }
  /// A name that nothing has, from then on taken.
  std::string fresh(const std::string &wanted);
  std::vector<Tensor> made; ///< initializers that the new nodes read
  /// Reads the bytes of an initializer as another type and shape; nodes read the tensor of the name returned.
  std::string retyped(const Tensor &, ElementType, std::vector<int64_t> dims);
  /// The initializers that were read otherwise, as they are read now.
  std::map<std::string, Tensor> readAs;

private:
  const Model &model;
  std::map<std::string, const Node *> makers;
  std::map<std::string, const Tensor *> tensors;
  std::set<std::string> reads, used;
  std::set<std::string> readElsewhere; ///< by other operators than those of weights in few bits
};

/// The nodes that stand for one node. Those made here are of a newest opset, whatever the file's is.
class Parts {
public:
  using Values = std::vector<std::string>;
  using Attributes = std::vector<Attribute>;

  Parts(const Node &node, Surroundings &around) : node(node), around(around) {}
  const Node &node;
  Surroundings &around;
  std::vector<Node> nodes;

  bool has(size_t k) const { return node.hasInput(k); }
  const std::string &in(size_t k) const { return node.input(k); }
  /// Whether something reads output k.
  bool wants(size_t k) const { return node.hasOutput(k) && around.isRead(node.output(k)); }
  /// The number of dimensions of an input that must be known.
  size_t rankOf(size_t k) const;

  /// A new node; the name of its output.
  std::string make(const std::string &op, Values inputs, Attributes attributes = {});
  /// The same with several outputs.
  Values makeSeveral(const std::string &op, size_t outputs, Values inputs, Attributes attributes = {});
  /// This value is output k of the node.
  void give(size_t k, const std::string &value);

  std::string ints(const std::vector<int64_t> &values);
  std::string number(int64_t value);
  /// A number of the type of `like`.
  std::string numberLike(double value, const std::string &like);
  std::string sizeOf(const std::string &value, int64_t axis); ///< [size]
  std::string addMaybe(const std::string &value, size_t k);   ///< value + input k, where there is one
  std::string transposedLast(const std::string &value);       ///< the last two axes exchanged, of any rank
  /// Parts along an axis of these sizes.
  Values split(const std::string &value, int64_t axis, const std::vector<int64_t> &sizes);

  [[noreturn]] void refuse(const std::string &why) const { throw NotLowered{why}; }
  /// Refuses inputs, outputs and attributes beyond those named: what they say would be lost.
  void takesOnly(size_t inputs, size_t outputs, std::initializer_list<const char *> attributes) const;
};

/// One for each operator; null for what is not known.
using NodeLowering = void (*)(Parts &);
NodeLowering loweringOf(const Node &);

// By family.
using LoweringTable = std::map<std::string, NodeLowering>;
void addActivations(LoweringTable &);
void addAttentions(LoweringTable &);
void addExperts(LoweringTable &);
void addMovements(LoweringTable &);
void addNorms(LoweringTable &);
void addProducts(LoweringTable &);
void addQuantised(LoweringTable &);

} // namespace kedge::model
