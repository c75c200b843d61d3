// Data in: conversions, token files, predictions, gradients, initial values.
#include "runtime/data/Documents.h"
#include "runtime/data/Shuffle.h"
#include "runtime/data/Source.h"
#include "runtime/format/Convert.h"
#include "runtime/format/Philox.h"
#include "runtime/format/TensorFile.h"
#include "runtime/train/Schedule.h"
#include "test/unit/runtime/RuntimeTest.h"
#include <cmath>
#include <set>

namespace kedge::test {
namespace {

class RuntimeData : public RuntimeTest {};

rt::InputSpec inputOf(rt::DType type, std::vector<int64_t> shape) {
  rt::InputSpec input;
  input.name = "x";
  input.desc = {type, std::move(shape)};
  return input;
}

TEST_F(RuntimeData, NpyTypesAreConverted) {
  writeNpy<uint8_t>("u1.npy", "|u1", {2, 2}, {1, 2, 3, 255});
  writeNpy<double>("f8.npy", "<f8", {2, 2}, {1, 2, 3, 255});
  writeNpy<int32_t>("i4.npy", "<i4", {2, 2}, {1, 2, 3, 255});
  writeNpy<uint16_t>("f2.npy", "<f2", {2, 2}, {0x3c00, 0x4000, 0x4200, 0x5bf8});
  for (const char *name : {"u1.npy", "f8.npy", "i4.npy", "f2.npy"}) {
    const auto source = rt::openNpy(path(name), inputOf(rt::DType::F32, {1, 2}));
    ASSERT_EQ(source->rows(), 2);
    float row[2];
    source->read(1, reinterpret_cast<char *>(row));
    EXPECT_EQ(row[0], 3) << name;
    EXPECT_EQ(row[1], 255) << name;
  }
  const auto wide = rt::openNpy(path("i4.npy"), inputOf(rt::DType::I64, {1, 2}));
  int64_t row[2];
  wide->read(1, reinterpret_cast<char *>(row));
  EXPECT_EQ(row[1], 255);
  EXPECT_ANY_THROW(rt::openNpy(path("f8.npy"), inputOf(rt::DType::I64, {1, 2})));
}

TEST_F(RuntimeData, NpyHeadersCanBeRead) {
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{5}, {2, 3}, {}}) {
    const std::string header = rt::npyHeader(rt::DType::F32, shape);
    EXPECT_EQ(header.size() % 64, 0u);
    write("h.npy", header + std::string(24, '\0'));
    EXPECT_EQ(rt::Npy(path("h.npy")).shape, shape);
  }
}

/// The loss of a table of zeros is log 8; one step of rate 1 from there tells which pairs were counted.
TEST_F(RuntimeData, TokenFilesOfAllKinds) {
  std::vector<uint16_t> tokens;
  for (int i = 0; i < 33; ++i)
    tokens.push_back(static_cast<uint16_t>((i * i) % 8));
  const std::string raw(reinterpret_cast<const char *>(tokens.data()), 66);
  std::vector<uint32_t> wide(tokens.begin(), tokens.end());
  std::vector<int32_t> header(256, 0);
  const auto headed = [&](int32_t magic, int32_t version, const std::string &data) {
    header[0] = magic;
    header[1] = version;
    header[2] = 33;
    return std::string(reinterpret_cast<const char *>(header.data()), 1024) + data;
  };
  write("raw.bin", raw);
  write("c16.bin", headed(20240520, 1, raw));
  write("c32.bin", headed(20240801, 7, {reinterpret_cast<const char *>(wide.data()), 132}));
  std::vector<int64_t> ids(tokens.begin(), tokens.end() - 1), labels(tokens.begin() + 1, tokens.end());
  writeNpy("ids.npy", "<i8", {8, 4}, ids);
  writeNpy("labels.npy", "<i8", {8, 4}, labels);
  const auto expected = withoutTimes(train("bigram:3 --steps 5 --data ids=ids.npy --data labels=labels.npy"));
  EXPECT_NEAR(expected[0]["loss"].get<double>(), std::log(8.0), 1e-6);
  for (const char *name : {"raw.bin", "c16.bin", "c32.bin", "ids=raw.bin"})
    EXPECT_EQ(withoutTimes(train(std::string("bigram:3 --steps 5 --tokens ") + name)), expected) << name;
  header[2] = 40;
  write("c16.bin", headed(20240520, 1, raw).replace(8, 4, "\x50\0\0\0", 4));
  expectError("bigram --steps 1 --tokens c16.bin", "promises 80 tokens");
  write("c16.bin", headed(20240520, 3, raw));
  expectError("bigram --steps 1 --tokens c16.bin", "version 3");
}

/// Documents of 3, 2 and 8 tokens in rows of 4: the first row ends within the second, the second one holds
/// two.
TEST_F(RuntimeData, PackedDocumentsAreKeptApart) {
  std::vector<int32_t> tokens(13, 1);
  writeNpy<int32_t>("tokens.npy", "<i4", {13}, tokens);
  writeNpy<int32_t>("begins.npy", "<i4", {3}, {0, 3, 5});
  rt::PackedTokens packed{std::make_shared<rt::TokenFile>(path("tokens.npy")), nullptr, 4};
  packed.documents = std::make_shared<rt::Documents>(path("begins.npy"), *packed.tokens);
  const auto input = [](const char *name, rt::DType type, std::vector<int64_t> shape) {
    rt::InputSpec spec = inputOf(type, std::move(shape));
    spec.name = name;
    spec.batched = true;
    return spec;
  };
  const auto positions = rt::packedInput(packed, input("position_ids", rt::DType::I64, {2, 4}));
  ASSERT_EQ(positions->rows(), 3);
  int64_t row[4];
  const std::vector<std::vector<int64_t>> wanted = {
      {0, 1, 2, 0}, {0, 0, 1, 2}, {0, 1, 2, 3}}; // from the row's begin at the least
  for (int64_t k = 0; k < 3; ++k) {
    positions->read(k, reinterpret_cast<char *>(row));
    EXPECT_EQ(std::vector<int64_t>(row, row + 4), wanted[static_cast<size_t>(k)]) << k;
  }
  bool seen[16];
  rt::packedInput(packed, input("attention_mask", rt::DType::Bool, {2, 1, 4, 4}))
      ->read(0, reinterpret_cast<char *>(seen));
  EXPECT_EQ(std::vector<bool>(seen, seen + 16),
            (std::vector<bool>{1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1}));
  float added[16];
  rt::packedInput(packed, input("attention_mask", rt::DType::F32, {2, 4, 4}))
      ->read(1, reinterpret_cast<char *>(added));
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(added[i] == 0, i == 0 || (i / 4 >= 1 && i % 4 >= 1 && i % 4 <= i / 4)) << i << ": " << added[i];
  int64_t ones[4];
  rt::packedInput(packed, input("attention_mask", rt::DType::I64, {2, 4}))
      ->read(2, reinterpret_cast<char *>(ones));
  EXPECT_EQ(std::vector<int64_t>(ones, ones + 4), std::vector<int64_t>(4, 1));
  EXPECT_EQ(rt::packedInput(packed, input("token_types", rt::DType::I64, {2, 4})), nullptr);
  EXPECT_EQ(rt::packedInput(packed, input("position_ids", rt::DType::I64, {2, 5})), nullptr);
}

TEST_F(RuntimeData, EvaluationCountsItemsNotRows) {
  writeNpy<int64_t>("ids.npy", "<i8", {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3});
  writeNpy<int64_t>("labels.npy", "<i8", {3, 4}, {1, 2, 3, 4, -100, -100, -100, 0, 1, 2, 3, -100});
  const auto log =
      train("bigram:2 --steps 3 --data ids=ids.npy --data labels=labels.npy --eval-data ids=ids.npy "
            "--eval-data labels=labels.npy --lr 0");
  EXPECT_NEAR(log[2]["eval_loss"].get<double>(), std::log(8.0), 1e-6);
}

TEST_F(RuntimeData, PredictWritesEveryRowAndNeedsNoLabels) {
  writeLineData(10);
  ASSERT_EQ(run("line --steps 0 --eval-data x=x.npy --predict y=p.npy").code, 0);
  const rt::Npy npy(path("p.npy"));
  EXPECT_EQ(npy.shape, (std::vector<int64_t>{10, 2}));
  const float expected = 0.1f * std::sin(27.0f) + 0.3f * std::sin(28.0f) + 0.5f * std::sin(29.0f);
  EXPECT_NEAR(rt::loadAsDouble(npy.type, npy.data, 18), expected, 1e-6);
}

TEST_F(RuntimeData, DumpedGradientsAreThoseOfTheStep) {
  writeLineData(8);
  for (const char *spec : {"line:4", "line:2:2"}) {
    ASSERT_EQ(run(std::string(spec) +
                  " --steps 2 --dump-gradients g.safetensors --dump-step 1 --log log.jsonl" + kLineData)
                  .code,
              0);
    const auto file = rt::TensorFile::open(path("g.safetensors"));
    ASSERT_NE(file.find("w"), nullptr);
    EXPECT_EQ(file.find("w")->desc.shape, (std::vector<int64_t>{3, 2}));
    double norm = 0;
    for (const char *name : {"w", "b"})
      for (int64_t i = 0; i < file.find(name)->desc.elements(); ++i)
        norm += std::pow(rt::loadAsDouble(rt::DType::F32, file.find(name)->data, i), 2);
    EXPECT_NEAR(std::sqrt(norm), readLog("log.jsonl")[1]["grad_norm"].get<double>(), 1e-6);
  }
}

TEST_F(RuntimeData, InitIsReproducibleAndLastSpecWins) {
  writeLineData(8);
  const std::string init = "line --steps 0 --init '.=zeros' --init '^w$=normal:0.5' --export-safetensors ";
  ASSERT_EQ(run(init + "a.safetensors --seed 1").code, 0);
  ASSERT_EQ(run(init + "b.safetensors --seed 1 --threads 3").code, 0);
  ASSERT_EQ(run(init + "c.safetensors --seed 2").code, 0);
  EXPECT_EQ(read("a.safetensors"), read("b.safetensors"));
  EXPECT_NE(read("a.safetensors"), read("c.safetensors"));
  const auto file = rt::TensorFile::open(path("a.safetensors"));
  EXPECT_EQ(rt::loadAsDouble(rt::DType::F32, file.find("b")->data, 0), 0);
  EXPECT_NE(rt::loadAsDouble(rt::DType::F32, file.find("w")->data, 0), 0);
}

/// A field of protobuf's wire format that has a length.
std::string field(int number, const std::string &bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}

std::string varintField(int number, int value) {
  return std::string(1, static_cast<char>(number << 3)) + static_cast<char>(value);
}

TEST_F(RuntimeData, WeightsComeFromOnnxInitializers) {
  writeLineData(8);
  const float w[6] = {1, 2, 3, 4, 5, 6}, b[2] = {7, 8};
  const std::string wBytes(reinterpret_cast<const char *>(w), 24),
      bBytes(reinterpret_cast<const char *>(b), 8);
  const std::string unpacked =
      varintField(1, 3) + varintField(1, 2) + varintField(2, 1) + field(8, "w") + field(9, wBytes);
  const std::string location = field(13, field(1, "location") + field(2, "weights.data")) +
                               field(13, field(1, "offset") + field(2, "4"));
  const std::string outside =
      field(1, "\x02") + varintField(2, 1) + field(8, "b") + location + varintField(14, 1);
  const std::string inside = field(1, "\x02") + varintField(2, 1) + field(8, "b") + field(4, bBytes);
  write("weights.data", "skip" + bBytes);
  for (const std::string &second : {outside, inside}) {
    const std::string graph = field(2, "graph") + field(5, unpacked) + field(5, second);
    // The graph is longer than a one-byte length can say.
    const char length[2] = {static_cast<char>(graph.size() | 128), static_cast<char>(graph.size() >> 7)};
    write("w.onnx", varintField(1, 8) + "\x3a" + std::string(length, 2) + graph);
    const RunResult result = run("line --steps 0 --weights w.onnx --export-safetensors o.safetensors");
    ASSERT_EQ(result.code, 0) << result.err;
    const auto file = rt::TensorFile::open(path("o.safetensors"));
    EXPECT_EQ(std::string(file.find("w")->data, 24), wBytes);
    EXPECT_EQ(std::string(file.find("b")->data, 8), bBytes);
  }
  const std::string whole = read("w.onnx");
  write("w.onnx", whole.substr(0, whole.size() - 5));
  expectError("line --steps 0 --weights w.onnx --export-safetensors o.safetensors", "truncated");
}

TEST_F(RuntimeData, TheExportedModelIsTheCompiledOneWithNewValues) {
  writeLineData(8);
  const std::string before = read("model.bin");
  const RunResult same = run("line --steps 0 --export-onnx out.onnx");
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(read("out.onnx"), before);
  EXPECT_NE(same.err.find("out.onnx: b: kept"), std::string::npos);
  ASSERT_EQ(run(std::string("line --steps 3 --export-onnx out.onnx") + kLineData).code, 0);
  EXPECT_EQ(read("out.onnx").size(), before.size());
  EXPECT_NE(read("out.onnx"), before);
  // It is the same graph: the program takes it as its model.
  EXPECT_EQ(run(std::string("line --steps 1 --model out.onnx") + kLineData).code, 0);
}

TEST(RuntimePieces, PhiloxIsTheReference) {
  // Known answers of Random123 (kat_vectors, philox4x32 10).
  EXPECT_EQ(rt::philox4x32({0, 0, 0, 0}, 0, 0),
            (rt::PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(rt::philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff),
            (rt::PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(rt::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (rt::PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RuntimePieces, ShuffleIsAPermutation) {
  for (int64_t count : {1, 2, 7, 64, 1000}) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < count; ++i)
      seen.insert(rt::permuted(i, count, 42, 3));
    EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
    EXPECT_GE(*seen.begin(), 0);
    EXPECT_LT(*seen.rbegin(), count);
  }
}

TEST(RuntimePieces, LearningRates) {
  rt::RunScalars s;
  s.lr = 1;
  s.minLr = 0.1;
  s.steps = 20;
  s.decaySteps = 14;
  s.warmup = 4;
  s.warmupStart = 0.2;
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 0), 0.2 + 0.8 * 0.25);
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 3), 1);
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 10), 1);
  s.schedule = rt::ScheduleKind::Linear;
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 9), 0.1 + 0.9 * 0.5);
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 19), 0.1);
  s.schedule = rt::ScheduleKind::Cosine;
  EXPECT_NEAR(rt::learningRate(s, 9), 0.1 + 0.9 * 0.5, 1e-15);
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 4), 1);
}

TEST(RuntimePieces, TheDecayAtTheEndBeginsAtTheFullRate) {
  rt::RunScalars s;
  s.lr = 1;
  s.minLr = 0.2;
  s.steps = 10;
  s.decaySteps = 4;
  s.warmup = 2;
  s.schedule = rt::ScheduleKind::Wsd;
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 0), 0.5);
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 6), 1);
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 7), 1 - 0.8 / 4);
  EXPECT_DOUBLE_EQ(rt::learningRate(s, 9), 1 - 0.8 * 3 / 4);
}

/// A tensor of several slices of 1 MiB, in another order of dimensions than in memory.
TEST_F(RuntimeData, LargeTensorsAreTransposedSliceBySlice) {
  constexpr int64_t rows = 701, columns = 997;
  std::vector<float> source(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<float>(i);
  rt::FileWriter writer(path("large.safetensors"));
  rt::writeSafetensors(writer,
                       {{"w", {rt::DType::F32, {columns, rows}}, source.data(), rt::DType::F32, {1, 0}}});
  writer.finish();
  const rt::TensorFile file = rt::TensorFile::open(path("large.safetensors"));
  const rt::TensorView *found = file.find("w");
  ASSERT_NE(found, nullptr);
  for (int64_t column = 0; column < columns; column += 83)
    for (int64_t row = 0; row < rows; row += 59)
      ASSERT_EQ(rt::loadAsDouble(rt::DType::F32, found->data, column * rows + row), row * columns + column);
}

TEST(RuntimePieces, TransposeOfAnyRankAndType) {
  std::vector<float> source(24);
  for (size_t i = 0; i < 24; ++i)
    source[i] = static_cast<float>(i);
  std::vector<double> result(24);
  // source [2, 3, 4], perm (2, 0, 1) -> [4, 2, 3]
  rt::transpose(result.data(), rt::DType::F64, {4, 2, 3}, source.data(), rt::DType::F32, {2, 0, 1});
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ(result[static_cast<size_t>(a * 6 + b * 3 + c)], b * 12 + c * 4 + a);
  std::vector<float> back(24);
  rt::transpose(back.data(), rt::DType::F32, {2, 3, 4}, result.data(), rt::DType::F64,
                rt::inversePerm({2, 0, 1}));
  EXPECT_EQ(back, source);
}

} // namespace
} // namespace kedge::test
