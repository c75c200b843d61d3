// GPT-2 of any size at level 1, without weights: what its planning and its cost are tested on.
#pragma once
#include <cmath>
#include <fmt/format.h>
#include <string>

namespace kedge::test {

struct GptSize {
  int64_t layers = 12, width = 768, heads = 12, vocabulary = 50257, batch = 1, tokens = 1024;

  /// Of weights that are factors of products: four of a block, and the tied embedding.
  double productParameters() const {
    double w = static_cast<double>(width);
    return static_cast<double>(layers) * 12 * w * w + static_cast<double>(vocabulary) * w;
  }
};

class GptModule {
public:
  explicit GptModule(GptSize size) : s(size) {
    stream = fmt::format("tensor<{}x{}x{}xf32>", s.batch, s.tokens, s.width);
    std::string x = embed();
    for (int64_t block = 0; block < s.layers; ++block)
      x = addMlp(addAttention(x, block), block);
    x = norm(x, "norm");
    std::string logits = product(x, stream, "%tokens", s.vocabulary, s.width, s.vocabulary);
    result = fmt::format("tensor<{}x{}x{}xf32>", s.batch, s.tokens, s.vocabulary);
    body += fmt::format("  return {} : {}\n", logits, result);
  }

  std::string text() const {
    return states + fmt::format("func.func @model(%ids: tensor<{}x{}xi64> {{train.binding = "
                                "#train.binding<input \"input_ids\">}}{}) -> "
                                "({} {{train.binding = #train.binding<output \"logits\">}}) "
                                "attributes {{train.kind = #train.kind<model>}} {{\n{}}}\n",
                                s.batch, s.tokens, arguments, result, body);
  }

private:
  std::string parameter(const std::string &name, const std::string &shape) {
    states += fmt::format("train.state parameter @{} tensor<{}xf32>\n", name, shape);
    arguments +=
        fmt::format(", %{0}: tensor<{1}xf32> {{train.binding = #train.binding<state @{0}>}}", name, shape);
    return "%" + name;
  }
  std::string fresh() { return fmt::format("%v{}", values++); }
  std::string rows(int64_t width) const {
    return fmt::format("tensor<{}x{}x{}xf32>", s.batch, s.tokens, width);
  }

  std::string embed() {
    std::string table = fmt::format("tensor<{}x{}xf32>", s.vocabulary, s.width);
    std::string places = fmt::format("tensor<{}x{}xf32>", s.tokens, s.width);
    parameter("tokens", fmt::format("{}x{}", s.vocabulary, s.width));
    parameter("positions", fmt::format("{}x{}", s.tokens, s.width));
    std::string rowsOf = fresh(), sum = fresh();
    body +=
        fmt::format("  {} = onnx.Gather %tokens, %ids {{axis = 0 : i64}} : ({}, tensor<{}x{}xi64>) -> {}\n",
                    rowsOf, table, s.batch, s.tokens, stream);
    body +=
        fmt::format("  {} = onnx.Add {}, %positions : ({}, {}) -> {}\n", sum, rowsOf, stream, places, stream);
    return sum;
  }

  std::string norm(const std::string &x, const std::string &name) {
    std::string width = std::to_string(s.width), y = fresh();
    std::string scale = parameter(name + "_scale", width), shift = parameter(name + "_shift", width);
    std::string sums = fmt::format("tensor<{}x{}x1xf32>", s.batch, s.tokens),
                vector = fmt::format("tensor<{}xf32>", width);
    body += fmt::format(
        "  {0}, {0}m, {0}r = onnx.LayerNormalization {1}, {2}, {3} : ({4}, {5}, {5}) -> ({4}, {6}, {6})\n", y,
        x, scale, shift, stream, vector, sums);
    return y;
  }

  std::string product(const std::string &x, const std::string &type, const std::string &weight,
                      int64_t rowsOfWeight, int64_t columns, int64_t to) {
    std::string y = fresh();
    body += fmt::format("  {} = onnx.MatMul {}, {} {{transB = true}} : ({}, tensor<{}x{}xf32>) -> {}\n", y, x,
                        weight, type, rowsOfWeight, columns, rows(to));
    return y;
  }

  std::string linear(const std::string &x, int64_t from, int64_t to, const std::string &name) {
    std::string weight = parameter(name, fmt::format("{}x{}", to, from)),
                bias = parameter(name + "_bias", std::to_string(to));
    std::string y = product(x, rows(from), weight, to, from, to), sum = fresh();
    body += fmt::format("  {} = onnx.Add {}, {} : ({}, tensor<{}xf32>) -> {}\n", sum, y, bias, rows(to), to,
                        rows(to));
    return sum;
  }

  std::string add(const std::string &x, const std::string &y) {
    std::string sum = fresh();
    body += fmt::format("  {} = onnx.Add {}, {} : ({}, {}) -> {}\n", sum, x, y, stream, stream, stream);
    return sum;
  }

  std::string addAttention(const std::string &x, int64_t block) {
    std::string name = fmt::format("h{}_", block),
                qkv = linear(norm(x, name + "norm1"), s.width, 3 * s.width, name + "qkv");
    std::string sums = fmt::format("tensor<{}x{}x{}xf32>", s.batch, s.heads, s.tokens), parts = fresh(),
                y = fresh();
    std::string heads = fmt::format("{}, {}, {}, {}", s.batch, s.tokens, s.heads, s.width / s.heads);
    std::string type = fmt::format("tensor<{}x{}x{}x{}xf32>", s.batch, s.tokens, s.heads, s.width / s.heads);
    body += fmt::format("  {0}:3 = onnx.Split {1} {{axis = 2 : i64, split = array<i64: {2}, {2}, {2}>}} : "
                        "({3}) -> ({4}, {4}, {4})\n",
                        parts, qkv, s.width, rows(3 * s.width), stream);
    for (int i = 0; i < 3; ++i)
      body += fmt::format("  {0}_{1} = onnx.Reshape {0}#{1} {{shape = array<i64: {2}>}} : ({3}) -> {4}\n",
                          parts, i, heads, stream, type);
    body +=
        fmt::format("  {0}o, {0}l = train.attention {1}_0, {1}_1, {1}_2 sees(causal) {{scale = {4} : f64, "
                    "q_layout = \"bthd\", k_layout = "
                    "\"bthd\", v_layout = \"bthd\", o_layout = \"bthd\"}} : ({2}, {2}, {2}) -> ({2}, {3})\n",
                    y, parts, type, sums, 1 / std::sqrt(static_cast<double>(s.width / s.heads)));
    body += fmt::format("  {0} = onnx.Reshape {0}o {{shape = array<i64: {1}, {2}, {3}>}} : ({4}) -> {5}\n", y,
                        s.batch, s.tokens, s.width, type, stream);
    return add(x, linear(y, s.width, s.width, name + "out"));
  }

  std::string addMlp(const std::string &x, int64_t block) {
    std::string name = fmt::format("h{}_", block),
                up = linear(norm(x, name + "norm2"), s.width, 4 * s.width, name + "up");
    std::string act = fresh(), type = rows(4 * s.width);
    body += fmt::format("  {} = onnx.Gelu {} {{approximate = \"tanh\"}} : ({}) -> {}\n", act, up, type, type);
    return add(x, linear(act, 4 * s.width, s.width, name + "down"));
  }

  GptSize s;
  int values = 0;
  std::string stream, result, states, arguments, body;
};

} // namespace kedge::test
