// Makes the graph of a model op by op, with the names of modules that PyTorch's exporter would record.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::driver::shapes {

class GraphMaker {
public:
  using Value = std::string;
  using Values = std::vector<Value>;
  using Attributes = std::vector<model::Attribute>;

  /// What is made while it lives belongs to this module.
  class Module {
  public:
    Module(GraphMaker &graph, const std::string &path, const std::string &kind);
    ~Module();
    Module(const Module &) = delete;
    Module &operator=(const Module &) = delete;

  private:
    GraphMaker &graph;
  };

  /// Operands are braced lists: these are evaluated in order, so that files are the same with every compiler.
  Value op(const std::string &kind, const Values &inputs, const Attributes &attributes = {});
  Values ops(const std::string &kind, const Values &inputs, size_t outputs,
             const Attributes &attributes = {});

  Value parameter(const std::string &name, const std::vector<int64_t> &shape);
  /// A tensor of one whole number, or one that is filled with a number.
  Value integer(int64_t value);
  Value filled(const std::vector<int64_t> &shape, float value);

  Value linear(const Value &x, const std::string &name, int64_t fanIn, int64_t fanOut, bool bias = true);
  Value layerNorm(const Value &x, const std::string &name, int64_t width);
  Value rmsNorm(const Value &x, const std::string &name, int64_t width);

  void input(const std::string &name, model::ElementType type, const std::vector<model::Dim> &shape);
  /// The model whose only output this is.
  model::Model finish(const Value &output, const std::vector<model::Dim> &shape);

private:
  Value keep(model::Tensor constant);

  model::Model made;
  std::vector<std::string> paths{""}, kinds{"Model"};
  int64_t values = 0;
  uint64_t weightBytes = 0;
};

} // namespace kedge::driver::shapes
