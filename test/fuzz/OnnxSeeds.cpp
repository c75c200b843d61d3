#include "test/support/OnnxBytes.h"

/// Small models that use what files of exporters rarely do: functions, subgraphs, every way to store
/// elements.
std::vector<std::vector<uint8_t>> fuzzSeeds() {
  using namespace kedge::test;
  Msg branch = Msg().text(2, "b").sub(1, node("Neg", {"x"}, {"r"})).sub(12, value("r", {2}));
  Msg body = node("Concat", {"a", "a"}, {"t"}).sub(5, refAttribute("axis", "k", 2));
  Msg function =
      Msg()
          .text(1, "F")
          .text(10, "local")
          .text(4, "a")
          .text(5, "b")
          .sub(9, opset("", 18))
          .sub(7, body)
          .sub(7,
               node("If", {"a"}, {"b"})
                   .sub(5, graphAttribute("then_branch",
                                          Msg().sub(1, node("Neg", {"t"}, {"u"})).sub(12, value("u", {})))));
  Msg call =
      node("F", {"x"}, {"y"}, "call").text(7, "local").sub(5, intAttribute("k", 0)).sub(9, entry("m", "n"));
  Msg bn = node("BatchNormalization", {"y", "w", "w", "w", "w"}, {"z", "m1", "v1"})
               .sub(5, intAttribute("training_mode", 1));
  Msg constant =
      node("Constant", {}, {"c"}).sub(5, Msg().text(1, "value_ints").varint(8, 1).varint(8, 2).varint(20, 7));
  Msg graph = Msg()
                  .sub(1, call)
                  .sub(1, bn)
                  .sub(1, constant)
                  .sub(1, node("If", {"x"}, {"q"}).sub(5, graphAttribute("then_branch", branch)));
  graph.sub(5, rawTensor<float>("w", 1, {2}, {1, 2}))
      .sub(5, tensorHead("i", 7, {2}).varint(7, 3).varint(7, 4));
  graph.sub(5, tensorHead("h", 10, {2}).text(5, std::string("\x01\x02", 2)))
      .sub(5, tensorHead("s", 8, {1}).text(6, "str"));
  graph.sub(5, externalTensor("e", {2}, "sub/e.bin", "4", "8"))
      .sub(5, tensorHead("n", 22, {3}).varint(5, 7).varint(5, 8));
  graph.sub(5, tensorHead("d", 11, {1}).text(10, std::string(8, 'd')))
      .sub(11, value("x", {-1}))
      .sub(12, value("z", {2}));
  Msg training = Msg().sub(2, Msg().sub(1, node("Sub", {"w", "z"}, {"w2"}))).sub(4, entry("w", "w2"));
  Msg model =
      modelOf(graph).sub(8, opset("local", 1)).sub(25, function).sub(20, training).sub(14, entry("k", "v"));
  return {asBytes(model)};
}
