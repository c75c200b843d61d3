#include "driver/shapes/Families.h"
#include "driver/shapes/GraphMaker.h"
#include <fmt/format.h>

namespace kedge::driver::shapes {
namespace {

using model::Attribute;
using model::Dim;
using Value = GraphMaker::Value;

void picturesInput(GraphMaker &g) {
  g.input("pixels", model::ElementType::Float,
          {Dim::named("batch"), Dim::of(3), Dim::named("height"), Dim::named("width")});
}

struct Convolution {
  int64_t from, to, size, stride = 1;
};

Value convolution(GraphMaker &g, const Value &x, const std::string &name, const Convolution &c) {
  return g.op("Conv", {x, g.parameter(name + ".weight", {c.to, c.from, c.size, c.size})},
              {Attribute::makeInts("strides", {c.stride, c.stride}),
               Attribute::makeInts("pads", std::vector<int64_t>(4, c.size / 2)),
               Attribute::makeInts("kernel_shape", {c.size, c.size})});
}

Value batchNorm(GraphMaker &g, const Value &x, const std::string &name, int64_t width) {
  return g
      .ops("BatchNormalization",
           {x, g.parameter(name + ".weight", {width}), g.parameter(name + ".bias", {width}),
            g.filled({width}, 0.0f), g.filled({width}, 1.0f)},
           3, {Attribute::makeInt("training_mode", 1), Attribute::makeFloat("momentum", 0.9f)})
      .front();
}

struct Stage {
  int64_t blocks, inner, stride;
};

/// Three convolutions beside a shortcut, which the first block of a stage widens.
Value bottleneck(GraphMaker &g, Value x, const std::string &name, int64_t width, int64_t inner,
                 int64_t stride, bool widens) {
  const GraphMaker::Module module(g, name, "Bottleneck");
  Value y =
      g.op("Relu", {batchNorm(g, convolution(g, x, name + ".1", {width, inner, 1}), name + ".n1", inner)});
  y = g.op("Relu",
           {batchNorm(g, convolution(g, y, name + ".2", {inner, inner, 3, stride}), name + ".n2", inner)});
  y = batchNorm(g, convolution(g, y, name + ".3", {inner, 4 * inner, 1}), name + ".n3", 4 * inner);
  if (widens)
    x = batchNorm(g, convolution(g, x, name + ".d", {width, 4 * inner, 1, stride}), name + ".nd", 4 * inner);
  return g.op("Relu", {g.op("Add", {x, y})});
}

Value twoConvolutions(GraphMaker &g, Value x, const std::string &name, int64_t from, int64_t to) {
  const GraphMaker::Module module(g, name, "DoubleConv");
  x = g.op("Relu", {batchNorm(g, convolution(g, x, name + ".0", {from, to, 3}), name + ".n0", to)});
  return g.op("Relu", {batchNorm(g, convolution(g, x, name + ".1", {to, to, 3}), name + ".n1", to)});
}

} // namespace

model::Model resnet50Model() {
  constexpr int64_t classes = 1000;
  GraphMaker g;
  picturesInput(g);
  Value x = g.op("Relu", {batchNorm(g, convolution(g, "pixels", "stem", {3, 64, 7, 2}), "stem.norm", 64)});
  x = g.op("MaxPool", {x},
           {Attribute::makeInts("kernel_shape", {3, 3}), Attribute::makeInts("strides", {2, 2}),
            Attribute::makeInts("pads", {1, 1, 1, 1})});
  int64_t width = 64, number = 0;
  for (const Stage &stage : {Stage{3, 64, 1}, Stage{4, 128, 2}, Stage{6, 256, 2}, Stage{3, 512, 2}}) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      x = bottleneck(g, x, fmt::format("layer{}.{}", number, i), width, stage.inner,
                     i == 0 ? stage.stride : 1, i == 0);
      width = 4 * stage.inner;
    }
    ++number;
  }
  x = g.op("Flatten", {g.op("GlobalAveragePool", {x})});
  return g.finish(g.linear(x, "head", width, classes), {Dim::named("batch"), Dim::of(classes)});
}

model::Model unetModel() {
  constexpr int64_t classes = 2, levels = 5;
  GraphMaker g;
  picturesInput(g);
  GraphMaker::Values levelsDown;
  Value x = "pixels";
  for (int64_t i = 0; i < levels; ++i) {
    if (i > 0)
      x = g.op("MaxPool", {x},
               {Attribute::makeInts("kernel_shape", {2, 2}), Attribute::makeInts("strides", {2, 2})});
    x = twoConvolutions(g, x, fmt::format("down{}", i), i == 0 ? 3 : int64_t{32} << i, int64_t{64} << i);
    levelsDown.push_back(x);
  }
  for (int64_t i = levels - 2; i >= 0; --i) {
    const int64_t width = int64_t{64} << i;
    x = g.op("ConvTranspose", {x, g.parameter(fmt::format("up{}.weight", i), {2 * width, width, 2, 2})},
             {Attribute::makeInts("strides", {2, 2}), Attribute::makeInts("kernel_shape", {2, 2})});
    x = g.op("Concat", {levelsDown[i], x}, {Attribute::makeInt("axis", 1)});
    x = twoConvolutions(g, x, fmt::format("join{}", i), 2 * width, width);
  }
  return g.finish(convolution(g, x, "head", {64, classes, 1}),
                  {Dim::named("batch"), Dim::of(classes), Dim::named("height"), Dim::named("width")});
}

} // namespace kedge::driver::shapes
