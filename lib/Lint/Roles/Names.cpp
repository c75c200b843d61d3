#include "lib/Lint/Roles/Names.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Traced.h"
#include <algorithm>
#include <string_view>

namespace kedge::lint {
using model::Model;

namespace {
struct NameRow {
  std::string_view pattern; // * stands for any text, # for a number
  NameSays says;
};

struct ExporterNames {
  std::string_view name;
  std::string_view producer; // how the file's producer name begins
  std::string_view mark;     // a tensor whose name tells of the exporter where the file names no producer
  std::vector<NameRow> rows; // the first that fits says it
};

/// Which names exporters give, each with where they come from. Biases, scales and weights that have no name
/// of their own there (jax2onnx' const_N, tf2onnx' const_fold_opt__N) are left to their roles.
const std::vector<ExporterNames> &exporterTable() {
  using enum NameSays;
  static const std::vector<ExporterNames> table = {
      // tf2onnx keeps TensorFlow's names of operations with the number of the output. Variables are read by
      // ReadVariableOp; numbers in Python code become x or y of their operation, or Const; grappler's folding
      // writes merged_input; tf.nn.batch_normalization writes batchnorm/mul and batchnorm/sub
      // (tensorflow/python/ops/nn_impl.py), and tf2onnx' own fusion ..._fused_bn
      // (tf2onnx/optimizer/back_to_back_optimizer.py). jax2tf writes JAX' parameters as constants, too.
      {"tf2onnx",
       "tf2onnx",
       "",
       {{"*batchnorm*/mul:#", FusedNorm},
        {"*batchnorm*/sub:#", FusedNorm},
        {"*merged_input*", FusedNorm},
        {"*_fused_bn", FusedNorm},
        {"*/ReadVariableOp*", Parameter},
        {"*/read:0", Parameter},
        {"jax2tf_*/Const*:0", Nothing},
        {"*/y:0", Constant},
        {"*/x:0", Constant},
        {"*/Const:0", Constant},
        {"*/Const_#:0", Constant}}},
      {"keras2onnx", "keras2onnx", "", {{"*/kernel:0", Parameter}, {"*/bias:0", Parameter}}},
      // Paddle's LayerHelper numbers parameters (.w_0, .b_0) and the statistics of a norm (.w_1, .w_2);
      // paddle2onnx calls what it makes up helper.constant.N (paddle2onnx/mapper/onnx_helper.cc).
      {"Paddle",
       "PaddlePaddle",
       "helper.constant.#",
       {{"batch_norm*.w_1", Buffer},
        {"batch_norm*.w_2", Buffer},
        {"helper.constant.#", Constant},
        {"*.w_#", Parameter},
        {"*.b_#", Parameter},
        {"create_parameter_#*", Parameter}}},
      {"Paddle",
       "",
       "*linear_#.w_0",
       {{"batch_norm*.w_1", Buffer},
        {"batch_norm*.w_2", Buffer},
        {"*.w_#", Parameter},
        {"*.b_#", Parameter}}},
      // jax2onnx numbers all of its constants; parameters that are passed as inputs keep their names.
      {"jax2onnx", "jax2onnx", "", {}},
      // skl2onnx calls attributes of estimators after scikit-learn's (coefs_, intercepts_ of
      // skl2onnx/operator_converters/multilayer_perceptron.py), operands of arithmetic ..cst.
      {"skl2onnx",
       "skl2onnx",
       "",
       {{"coefficient*", Parameter}, {"intercept*", Parameter}, {"*cst", Nothing}, {"*cst#", Nothing}}},
      // mobius builds node by node: weights keep the names of their modules in PyTorch, values are
      // v_MODULE.OPERATOR_N, and those that
      // it computes itself are tensors of the file (onnxscript's builder).
      {"mobius",
       "mobius",
       "",
       {{"v_*_#", Buffer},
        {"v_*_#_#", Buffer},
        {"const_*", Constant},
        {"*cos_cache", Buffer},
        {"*sin_cache", Buffer},
        {"*cos_table", Buffer},
        {"*sin_table", Buffer},
        {"*freq_table", Buffer},
        {"*.*", Parameter}}},
      // Gluon's Block.collect_params: prefix and leaf (mxnet/gluon/nn/basic_layers.py).
      {"MXNet",
       "mxnet",
       "*_moving_mean",
       {{"*_moving_mean", Buffer},
        {"*_moving_var", Buffer},
        {"*_running_mean", Buffer},
        {"*_running_var", Buffer},
        {"*_gamma", Parameter},
        {"*_beta", Parameter},
        {"*_weight", Parameter},
        {"*_bias", Parameter},
        {"*_alpha", Parameter}}},
      {"MXNet",
       "",
       "*_running_mean",
       {{"*_running_mean", Buffer},
        {"*_running_var", Buffer},
        {"*_gamma", Parameter},
        {"*_beta", Parameter},
        {"*_weight", Parameter},
        {"*_bias", Parameter}}},
      // Caffe2's brew: blob and suffix; rm and riv are running mean and inverse variance
      // (caffe2/python/helpers).
      {"Caffe2",
       "onnx-caffe2",
       "",
       {{"*_rm_#", Buffer},
        {"*_riv_#", Buffer},
        {"*_rm", Buffer},
        {"*_riv", Buffer},
        {"*_w_#", Parameter},
        {"*_b_#", Parameter},
        {"*_s_#", Parameter},
        {"*_w", Parameter},
        {"*_b", Parameter},
        {"*_s", Parameter}}},
      // exportONNXNetwork: layer and the name of the operand in ONNX.
      {"MATLAB",
       "MATLAB",
       "",
       {{"*_Mean", Buffer},
        {"*_mean", Buffer},
        {"*_var", Buffer},
        {"*_W", Parameter},
        {"*_R", Parameter},
        {"*_B", Parameter},
        {"*_scale", Parameter}}},
      // CNTK's uids: kind of the variable and a number.
      {"CNTK", "CNTK", "", {{"Parameter#*", Parameter}, {"Constant#*", Constant}}},
  };
  return table;
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool globFits(std::string_view pattern, std::string_view text) {
  if (pattern.empty())
    return text.empty();
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= text.size(); ++skip)
      if (globFits(pattern.substr(1), text.substr(skip)))
        return true;
    return false;
  }
  if (text.empty())
    return false;
  if (pattern[0] == '#') {
    size_t digits = 0;
    while (digits < text.size() && isDigit(text[digits]))
      if (globFits(pattern.substr(1), text.substr(++digits)))
        return true;
    return false;
  }
  return pattern[0] == text[0] && globFits(pattern.substr(1), text.substr(1));
}

std::string_view leafOf(std::string_view name) { return name.substr(name.find_last_of("./") + 1); }

std::string upTo(const std::string &name, std::string_view leaf) {
  return name.substr(0, name.size() - leaf.size());
}

/// Names that torch.export gives to what is no parameter, and numbered values.
bool isNumbered(std::string_view name) {
  static const std::vector<std::string_view> patterns = {"val_#",
                                                         "lifted_tensor_#",
                                                         "_lifted_tensor_constant#",
                                                         "_tensor_constant#",
                                                         "c_lifted_tensor_#",
                                                         "const_#",
                                                         "_to_copy*",
                                                         "onnx::*"};
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view p) { return globFits(p, name); });
}

/// The result of a Constant node of the older exporter, which never holds a parameter; tools that simplify
/// graphs store it as an initializer.
bool isConstantResult(std::string_view name) {
  static const std::vector<std::string_view> patterns = {"*/Constant_output_#", "*/Constant_#_output_#"};
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view p) { return globFits(p, name); });
}

/// Own names of PyTorch's modules; the older exporter calls constants '/Constant_output_0', 'onnx::Mul_12'.
bool isOwnName(const std::string &name) {
  return !name.empty() && !isDigit(name[0]) && name.find_first_of("/:") == std::string::npos &&
         name.find("_output_") == std::string::npos && !name.starts_with("Constant") && !isNumbered(name);
}
} // namespace

Names::Names(const Model &model, const std::map<std::string, std::string> &former) : former(former) {
  for (const ExporterNames &entry : exporterTable()) {
    if (!writer.empty())
      break;
    const bool named = !entry.producer.empty() && model.producer.starts_with(entry.producer);
    const bool marked = model.producer.empty() && !entry.mark.empty() &&
                        std::any_of(model.graph.initializers.begin(), model.graph.initializers.end(),
                                    [&](const model::Tensor &t) { return globFits(entry.mark, t.name); });
    if (named || marked)
      writer = entry.name;
  }
  if (writer.empty() && model.producer.starts_with("pytorch"))
    writer = "PyTorch";
  if (writer.empty() || writer == "PyTorch")
    findSiblings(model);
}

/// FrozenBatchNorm2d's four buffers (torchvision.ops.misc, detectron2), and the vectors of a spectral norm
/// beside their weight (torch.nn.utils.spectral_norm, parametrizations.spectral_norm).
void Names::findSiblings(const Model &model) {
  std::set<std::string> all, normalized;
  for (const model::Tensor &tensor : model.graph.initializers)
    all.insert(tensor.name);
  model::forEachNode(model.graph, [&](const model::Node &node) {
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (isRunningStatistic(node, k))
        normalized.insert(node.inputs[k]);
  });
  for (const std::string &name : all) {
    const std::string module = upTo(name, leafOf(name));
    if (leafOf(name) == "running_mean" && all.count(module + "running_var") && !normalized.count(name))
      for (const char *leaf : {"weight", "bias", "running_mean", "running_var"})
        if (all.count(module + leaf))
          frozen.insert(module + leaf);
    for (const char *leaf : {"weight_u", "weight_v"})
      if (leafOf(name) == leaf && all.count(module + "weight_orig"))
        vectors.insert(name);
    for (const char *leaf : {"_u", "_v"})
      if (leafOf(name) == leaf && name.find("parametrizations.") != std::string::npos)
        vectors.insert(name);
  }
}

NameSays Names::saysPyTorch(const std::string &name) const {
  if (frozen.count(name) || vectors.count(name) || isBufferName(name))
    return NameSays::Buffer;
  if (isNumbered(name))
    return NameSays::Nothing;
  if (writer == "PyTorch" && isConstantResult(name))
    return NameSays::ConstantResult;
  if (isModulePath(name) || isWeightName(name))
    return NameSays::Parameter;
  return writer == "PyTorch" && isOwnName(name) ? NameSays::Parameter : NameSays::Nothing;
}

NameSays Names::says(const std::string &tensor) const {
  if (former.count(tensor))
    return NameSays::Nothing; // after the path of its reader, not its own
  if (writer.empty() || writer == "PyTorch")
    return saysPyTorch(tensor);
  for (const ExporterNames &entry : exporterTable())
    if (entry.name == writer)
      for (const NameRow &row : entry.rows)
        if (globFits(row.pattern, tensor))
          return row.says;
  return NameSays::Nothing;
}

bool Names::isFusedNorm(const model::Node &reader) const {
  return writer == "tf2onnx" && reader.name.find("/batchnorm/") != std::string::npos;
}

bool isStatisticName(const std::string &name) {
  static const std::set<std::string_view> leaves = {"mean",       "std",       "var",        "variance",
                                                    "pixel_mean", "pixel_std", "image_mean", "image_std",
                                                    "input_mean", "input_std", "data_mean",  "data_std"};
  return leaves.count(leafOf(name)) != 0;
}

NameSays saysBeforeSoftmax(const std::string &name) {
  const std::string_view leaf = leafOf(name);
  if (leaf.find("alibi") != std::string_view::npos || leaf.find("mask") != std::string_view::npos)
    return NameSays::Buffer;
  const bool position = leaf.find("pos") != std::string_view::npos ||
                        leaf.find("rel") != std::string_view::npos || leaf == "attention_biases" ||
                        leaf.find("temperature") != std::string_view::npos;
  // T5's relative_attention_bias.weight: a table of a module, whose rows are gathered.
  const bool table = leaf == "weight" && name.find("relative_") != std::string::npos;
  return position || table ? NameSays::Parameter : NameSays::Nothing;
}

} // namespace kedge::lint
