// What is settled before anything reads a graph: inputs whose values are known, branches that are taken,
// where weights lie. Nodes and tensors keep their places in the file, so that an export finds them.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::model {

/// Makes an input a constant; `text` is its value: a number, numbers with commas between, or true or false.
/// `shape`: what --shape says of it, or null.
void fixInput(Model &, const std::string &input, const std::string &text,
              const std::vector<int64_t> *shape = nullptr);

/// By the id of an If whose condition is known: whether it takes its then_branch.
using Branches = std::map<int64_t, bool>;
/// Puts the nodes of these branches in the places of their Ifs.
void takeBranches(Model &, const Branches &);

/// Bodies of loops read what they carry around unchanged from outside.
void readLoopConstants(Model &);

/// Float initializers of graphs within nodes become initializers of the main graph; those of one element
/// become Constants where they are. Float Constants of rank 1 and above become initializers where no
/// initializer of the file could be a weight: some exporters write weights so.
void hoistWeights(Model &);

/// Metadata of an initializer that is an attribute of the node at its place: the attribute's name.
inline constexpr const char *attributeKey = "kedge.attribute";

/// LinearRegressor and LinearClassifier become Gemm: their attributes become initializers, which remember the
/// attribute that they are.
void lowerLinearModels(Model &);

/// Metadata of a node that stays as it is: why this form of it is not known.
inline constexpr const char *whyKey = "kedge.why";

/// Operators of com.microsoft, and onnxruntime's in the default domain, become operators of ONNX. What trains
/// keeps its name and place, so an exported file has its operators as before.
void lowerMicrosoft(Model &);

/// A gradient's buffer in a training graph that onnxruntime's generate_artifacts() made.
inline bool isGradientBuffer(const Node &node) { return node.is("InPlaceAccumulatorV2", "com.microsoft"); }

/// Attributes of a DequantizeLinear that the compiler made: the zero point of all blocks, where none is
/// given; and that rows of the zero points end with what fills a byte.
inline constexpr const char *zeroPointKey = "kedge.zero_point", *paddedPointsKey = "kedge.padded_points";

/// Marks the initializers of matrices in few bits, so that their codes stay packed: what a DequantizeLinear
/// reads in blocks of equal length, of 2 or 4 bits, or of 8 where the operator was MatMulNBits.
void markFewBits(Model &);

/// Inputs that are caches of a decoder (by their names, or what operators take them as) become empty, states
/// zeros, and outputs that only a cache keeps go; lengths of masks are those of the tokens. Caches that
/// `shapes` gives a length stay. Returns a sentence of what was done.
std::vector<std::string> removeCaches(Model &, const std::map<std::string, std::vector<int64_t>> &shapes);

/// The value is an output, whether the graph lists it or not; nothing where there is no such value.
void addOutput(Model &, const std::string &value);

/// Takes out the outputs, other than `losses`, that need what `isSupported` does not know, and the nodes that
/// only they need. Returns one sentence for each.
std::vector<std::string>
pruneOutputs(Model &, const std::vector<std::string> &losses,
             const std::function<bool(const std::string &domain, const std::string &op)> &isSupported);

} // namespace kedge::model
