// What the exporter's metadata say about the gradient of the function that a node came from.
#include "ExporterMetadata.h"
#include "kedge/Lint/Lint.h"
#include <set>

namespace kedge::lint {

namespace {
/// "max.dim" of "... call_function[target=torch.ops.aten.max.dim](args = ...", "" for what is no function of ATen.
std::string overloadOf(const model::Node &node) {
  static const std::string before = "[target=torch.ops.aten.";
  const std::string &text = node.meta(key::fxNode);
  const size_t from = text.find(before);
  const size_t end = from == std::string::npos ? from : text.find(']', from);
  return end == std::string::npos ? std::string() : text.substr(from + before.size(), end - from - before.size());
}
} // namespace

PyTorchGradient pyTorchGradient(const model::Node &node) {
  static const std::set<std::string> clamps = {"clamp.default",     "clamp_.default",     "clamp_min.default", "clamp_max.default",
                                               "clip.default",      "hardtanh.default",   "hardtanh_.default", "relu6.default",
                                               "hardsigmoid.default", "hardswish.default"};
  static const std::set<std::string> roots = {"std.correction",      "std.dim",     "std.default",
                                              "std_mean.correction", "std_mean.dim", "std_mean.default",
                                              "linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar",
                                              "pairwise_distance.default", "cdist.default", "_cdist_forward.default",
                                              "_euclidean_dist.default"};
  const std::string function = overloadOf(node);
  PyTorchGradient gradient;
  gradient.stops = function == "detach.default" || function == "detach_.default";
  gradient.clamps = clamps.count(function) != 0;
  gradient.firstOfEqual = function == "max.dim" || function == "min.dim";
  gradient.zeroAtZero = roots.count(function) != 0;
  return gradient;
}

bool stopsGradient(const model::Node &node) { return node.is("Identity") && pyTorchGradient(node).stops; }

} // namespace kedge::lint
