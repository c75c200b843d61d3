#include "driver/shapes/Families.h"
#include "driver/shapes/GraphMaker.h"
#include <fmt/format.h>

namespace kedge::driver::shapes {
namespace {

using model::Dim;
using Value = GraphMaker::Value;

constexpr int64_t wide = 1024;

void rowsInput(GraphMaker &g, int64_t width) {
  g.input("x", model::ElementType::Float, {Dim::named("batch"), Dim::of(width)});
}

} // namespace

model::Model linearsModel(int64_t layers, int64_t width, bool bias) {
  GraphMaker g;
  rowsInput(g, width);
  Value x = "x";
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("layers.{}", i);
    const GraphMaker::Module module(g, name, "Linear");
    x = g.linear(x, name, width, width, bias);
  }
  return g.finish(x, {Dim::named("batch"), Dim::of(width)});
}

model::Model wideRowsModel() {
  constexpr int64_t outputs = 8;
  GraphMaker g;
  rowsInput(g, wide);
  const Value x = g.layerNorm(g.op("Mul", {"x", g.parameter("scale", {wide})}), "norm", wide);
  return g.finish(g.op("MatMul", {g.op("Gelu", {x}), g.parameter("head", {wide, outputs})}),
                  {Dim::named("batch"), Dim::of(outputs)});
}

model::Model wideParameterModel() {
  constexpr int64_t outputs = 1 << 15;
  GraphMaker g;
  rowsInput(g, wide);
  return g.finish(g.op("MatMul", {"x", g.parameter("weight", {wide, outputs})}),
                  {Dim::named("batch"), Dim::of(outputs)});
}

} // namespace kedge::driver::shapes
