// Models built by hand in the form that torch's exporter writes, and the checks over them.
#pragma once
#include "lib/Lint/Lint.h"
#include <gtest/gtest.h>

namespace kedge::test {

/// Everything is supported and has a gradient but what the test names.
inline lint::Operators operatorsWithout(std::set<std::string> unsupported = {},
                                        std::set<std::string> noGradient = {}) {
  lint::Operators operators;
  operators.isSupported = [=](const std::string &, const std::string &op) { return !unsupported.count(op); };
  operators.hasGradient = [=](const std::string &, const std::string &op) { return !noGradient.count(op); };
  operators.isDifferentiable = [](const std::string &, const std::string &, size_t) { return true; };
  return operators;
}

class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 18) : opset(opset) { model.opsets[""] = opset; }

  ModelBuilder &input(std::string name, model::ElementType type = model::ElementType::Float,
                      std::vector<int64_t> dims = {2, 4}) {
    model.graph.inputs.push_back(value(std::move(name), type, dims));
    return *this;
  }
  ModelBuilder &output(std::string name, model::ElementType type = model::ElementType::Float) {
    model.graph.outputs.push_back(value(std::move(name), type, {2, 4}));
    return *this;
  }
  ModelBuilder &floats(std::string name, std::vector<int64_t> dims, std::vector<float> values,
                       model::Metadata metadata = {}) {
    model::Tensor tensor = model::Tensor::makeFloats(std::move(name), std::move(dims), values);
    tensor.metadata = std::move(metadata);
    model.graph.initializers.push_back(std::move(tensor));
    return *this;
  }
  ModelBuilder &ints(std::string name, std::vector<int64_t> dims, std::vector<int64_t> values) {
    model.graph.initializers.push_back(model::Tensor::makeInts(std::move(name), std::move(dims), values));
    return *this;
  }
  ModelBuilder &node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                     model::Metadata metadata = {}, std::vector<model::Attribute> attributes = {}) {
    model::Node node;
    node.opType = std::move(op);
    node.name = "node_" + outputs[0];
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.metadata = std::move(metadata);
    node.attributes = std::move(attributes);
    node.opset = opset;
    node.id = static_cast<int64_t>(model.graph.nodes.size());
    model.graph.nodes.push_back(std::move(node));
    return *this;
  }
  /// Lines "p_x: PARAMETER target='x'".
  ModelBuilder &signature(std::vector<std::pair<std::string, std::string>> entries) {
    std::string text = "\n# inputs\n";
    for (const auto &[placeholder, target] : entries)
      text +=
          placeholder + (placeholder[0] == 'p' ? ": PARAMETER" : ": BUFFER") + " target='" + target + "'\n";
    model.graph.metadata["pkg.torch.export.ExportedProgram.graph_signature"] =
        text + "x: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n";
    return *this;
  }

  model::Model model;

private:
  static model::ValueInfo value(std::string name, model::ElementType type, std::vector<int64_t> dims) {
    model::ValueInfo info;
    info.name = std::move(name);
    info.kind = model::ValueInfo::Kind::Tensor;
    info.dtype = type;
    info.hasShape = true;
    for (int64_t d : dims)
      info.dims.push_back(model::Dim::of(d));
    return info;
  }
  int64_t opset;
};

/// fx_node, module and what else an exported node carries.
inline model::Metadata call(const std::string &result, const std::string &target, const std::string &args,
                            const std::string &module = "") {
  return {{"pkg.torch.onnx.fx_node", "%" + result +
                                         " : [num_users=1] = call_function[target=torch.ops.aten." + target +
                                         "](args = (" + args + "), kwargs = {})"},
          {"pkg.torch.onnx.name_scopes", "['', '" + module + "', '" + result + "']"}};
}

inline model::Metadata foldedFrom(const std::string &names) {
  return {{"pkg.onnxscript.optimizer.folded_from", names}};
}

inline std::multiset<std::string> codesOf(const lint::Report &report,
                                          kedge::Severity severity = kedge::Severity::Error) {
  std::multiset<std::string> codes;
  for (const lint::Finding &finding : report.findings)
    if (finding.severity == severity)
      codes.insert(finding.code);
  return codes;
}

using Codes = std::multiset<std::string>;

inline std::string verdictOf(const lint::Report &report, const std::string &name) {
  for (const lint::Initializer &initializer : report.initializers)
    if (initializer.name == name)
      return std::string(lint::verdictName(initializer.verdict));
  return "absent";
}

inline lint::Report checked(const ModelBuilder &builder, const lint::LintOptions &options = {},
                            const lint::Operators &operators = operatorsWithout()) {
  return lint::check(builder.model, options, operators);
}

} // namespace kedge::test
