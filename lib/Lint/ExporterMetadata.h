// What torch.onnx's exporter writes beside the graph: the signature, the original call of a node, its module,
// and what constant folding used up.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::lint {

namespace key {
inline const std::string signature = "pkg.torch.export.ExportedProgram.graph_signature";
inline const std::string inputKind = "pkg.torch.export.graph_signature.InputSpec.kind";
inline const std::string originalName = "pkg.torch.onnx.original_node_name";
inline const std::string fxNode = "pkg.torch.onnx.fx_node";
inline const std::string nameScopes = "pkg.torch.onnx.name_scopes";
inline const std::string classHierarchy = "pkg.torch.onnx.class_hierarchy";
inline const std::string foldedFrom = "pkg.onnxscript.optimizer.folded_from";
inline const std::string paddingRow = "kedge.padding_row";     // ours: --padding-row
inline const std::string requiresGrad = "kedge.requires_grad"; // ours: on an initializer or its value
inline const std::string ruleName = "pkg.onnxscript.rewriter.rule_name";
} // namespace key

enum class SignatureKind { Parameter, Buffer, Other };

/// One input of the exported program that is not the user's: "p_x: PARAMETER target='x'".
struct SignatureEntry {
  std::string placeholder; // "p_model_wte_weight"
  std::string target;      // "model.wte.weight"
  SignatureKind kind = SignatureKind::Other;
};

/// The graph's signature, in any of the three forms that exporters wrote: text, repr() of the Python object,
/// JSON.
class Signature {
public:
  static Signature of(const model::Graph &);
  bool present() const { return !entries.empty(); }
  const SignatureEntry *byPlaceholder(const std::string &) const;
  const SignatureEntry *byTarget(const std::string &) const;
  const std::vector<SignatureEntry> &all() const { return entries; }
  /// Buffers that forward changes: `placeholder` is the call whose result they hold afterwards.
  const std::vector<SignatureEntry> &mutations() const { return mutated; }

  static bool isParameter(std::string_view placeholder) { return placeholder.starts_with("p_"); }
  static bool isBuffer(std::string_view placeholder) { return placeholder.starts_with("b_"); }
  /// The dotted name of a placeholder; without a signature the placeholder less its prefix.
  std::string nameOf(const std::string &placeholder) const;

private:
  void add(SignatureEntry);
  std::vector<SignatureEntry> entries, mutated;
  std::map<std::string, size_t> placeholders, targets;
};

/// One argument of the original call.
struct FxArgument {
  std::string text;              // "%p_head_weight", "[%a, %b]", "None", "0.1"
  std::vector<std::string> refs; // "p_head_weight"; "a", "b"; none; none
  /// The name when the argument is exactly one value, else "".
  std::string value() const;
};

/// The call that a node came from, e.g. torch.ops.aten.linear.default(%x, %p_head_weight, %p_head_bias).
struct FxCall {
  std::string name;     // of its result: "linear_3"
  std::string target;   // "linear", without namespace and overload
  std::string overload; // "default", "Tensor"; "" for what is no function of torch.ops
  std::vector<FxArgument> arguments;
  std::map<std::string, FxArgument> keywords;

  static std::optional<FxCall> parse(const std::string &text);
  static std::optional<FxCall> of(const model::Node &);
  /// Value name of an argument by place or keyword; "" when absent or not one value.
  std::string value(size_t place, const std::string &keyword = {}) const;
  std::vector<std::string> refs() const;
};

/// Elements of a Python list of strings, "['a', 'b']".
std::vector<std::string> parseStringList(const std::string &text);

} // namespace kedge::lint
