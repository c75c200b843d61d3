// States that are parts of tensors, filled from the model file and from checkpoints; what a checkpoint leaves
// out.
#include "runtime/format/Convert.h"
#include "runtime/format/TensorFile.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/weights/Weights.h"
#include "test/unit/runtime/RecordingDevice.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <numeric>

namespace kedge::test {
namespace {

using nlohmann::json;

TEST(RuntimeRanges, EveryRangeOfATransposedTensor) {
  const std::vector<int64_t> shape{2, 3, 4};
  std::vector<float> source(24);
  std::iota(source.begin(), source.end(), 1.0f);
  for (const std::vector<int> &perm : {std::vector<int>{}, {2, 0, 1}, {1, 2, 0}, {0, 2, 1}}) {
    std::vector<double> whole(24);
    rt::transpose(whole.data(), rt::DType::F64, shape, source.data(), rt::DType::F32, perm);
    if (!perm.empty()) {
      EXPECT_NE(whole, std::vector<double>(source.begin(), source.end()));
    }
    for (int64_t begin = 0; begin <= 24; ++begin)
      for (int64_t count = 0; begin + count <= 24; ++count) {
        std::vector<double> part(static_cast<size_t>(count) + 1, -7);
        rt::transposeRange(part.data(), rt::DType::F64, shape, source.data(), rt::DType::F32, perm, begin,
                           count);
        std::vector<double> expected(whole.begin() + begin, whole.begin() + begin + count);
        expected.push_back(-7);
        ASSERT_EQ(part, expected) << begin << "+" << count;
      }
  }
}

class RuntimeViews : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    writeLineData(1);
  }

  json line() const {
    json program = json::parse(tiny::programJson("line:2"));
    program["model"]["files"][0]["path"] = path("model.bin");
    return program;
  }

  static json &state(json &program, const std::string &name) {
    for (json &entry : program["states"])
      if (entry["name"] == name)
        return entry;
    throw std::runtime_error("no state " + name);
  }

  /// `name`, f32[2, 3] in the arena, becomes a part: `count` elements from `first` on, one behind a padding
  /// of one, in `elements` of them.
  static void cut(json &program, const std::string &name, int64_t first, int64_t count,
                  const char *type = "f32") {
    json &entry = state(program, name);
    entry["view"] = {{"shape", entry["shape"]}, {"first", first}, {"at", 1}, {"count", count}};
    entry["shape"] = {count + 3};
    entry["dtype"] = type;
  }

  static void load(RecordedProgram &recorded, const std::vector<rt::InitSpec> &init = {}) {
    rt::WeightSources sources;
    sources.init = init;
    rt::loadInitialValues(*recorded.executor, recorded.image, sources, false);
  }

  rt::Checkpoint save(const RecordedProgram &recorded) const {
    rt::CheckpointRun run{{}, rt::frozenTensors(*recorded.executor), "a run", {}};
    rt::writeCheckpoint(path(""), *recorded.executor, {1, 1, 2}, {}, run, 2);
    return rt::newestCheckpoint(path(""));
  }
};

// The model file has w as [3, 2]: 0.1 to 0.6; the arena [2, 3]: 0.1 0.3 0.5 0.2 0.4 0.6.
TEST_F(RuntimeViews, AModelsTensorIntoAPartOfIt) {
  json program = line();
  cut(program, "W", 2, 3);
  RecordedProgram part(program);
  load(part);
  EXPECT_EQ(part.values("W"), (std::vector<double>{0, 0.5f, 0.2f, 0.4f, 0, 0}));

  program = line();
  cut(program, "W", 2, 3, "bf16");
  RecordedProgram rounded(program);
  load(rounded);
  EXPECT_EQ(rounded.values("W"), (std::vector<double>{0, 0.5, 0.2001953125, 0.400390625, 0, 0}));
}

/// Each rank encodes the whole weight and keeps its box of the codes.
TEST_F(RuntimeViews, WeightsInFewBitsAreCutBetweenCodes) {
  struct Form {
    const char *format, *type;
    json shape, cut;
    std::vector<std::vector<size_t>> parts; ///< elements of the whole that each rank has; 9: padding
  };
  for (const Form &form :
       {Form{"nf4", "u8", {3}, {{"dim", 0}, {"axis", "tensor"}}, {{0, 1}, {2, 9}}},
        Form{"int8", "i8", {2, 3}, {{"dim", 1}, {"axis", "tensor"}}, {{0, 1, 3, 4}, {2, 9, 5, 9}}}}) {
    json program = line();
    json &w = state(program, "W");
    w["role"] = "frozen";
    w["dtype"] = form.type;
    w["shape"] = form.shape;
    w["encoding"] = {
        {"format", form.format}, {"part", "codes"}, {"double", false}, {"shape", {2, 3}}, {"axis", 0}};
    program["states"].erase(2); // its momentum
    RecordedProgram whole(program);
    load(whole);
    const std::vector<double> all = whole.values("W");
    program["options"]["mesh"] = "tensor=2";
    json &cut = state(program, "W");
    cut["shard"] = {{"shape", form.shape}, {"flat", false}, {"cuts", {form.cut}}};
    cut["shape"][form.cut["dim"].get<size_t>()] = 2;
    for (size_t rank = 0; rank < 2; ++rank) {
      RecordedProgram part(program, {static_cast<int64_t>(rank), 2});
      load(part);
      std::vector<double> expected;
      for (const size_t element : form.parts[rank])
        expected.push_back(element == 9 ? 0 : all[element]);
      EXPECT_EQ(part.values("W"), expected) << form.format << " on rank " << rank;
    }
  }
}

TEST_F(RuntimeViews, RandomValuesAreThoseOfTheWhole) {
  const std::vector<rt::InitSpec> init{{"w", rt::InitSpec::Kind::Normal, 1.0}};
  RecordedProgram whole(line());
  load(whole, init);
  const std::vector<double> all = whole.values("W");
  json program = line();
  cut(program, "W", 1, 4);
  RecordedProgram part(program);
  load(part, init);
  EXPECT_EQ(part.values("W"), (std::vector<double>{0, all[1], all[2], all[3], all[4], 0, 0}));
}

TEST_F(RuntimeViews, ACheckpointsTensorIntoAPartOfIt) {
  RecordedProgram whole(line());
  load(whole);
  whole.executor->write(*whole.program.state("m_W"), [](char *bytes) {
    for (int i = 0; i < 6; ++i)
      rt::storeDouble(rt::DType::F32, bytes, i, 10 + i);
  });
  const rt::Checkpoint checkpoint = save(whole);
  json program = line();
  cut(program, "W", 3, 2);
  cut(program, "m_W", 0, 5, "f16");
  RecordedProgram part(program);
  rt::loadCheckpoint(checkpoint, {}, *part.executor);
  EXPECT_EQ(part.values("W"), (std::vector<double>{0, 0.2f, 0.4f, 0, 0}));
  EXPECT_EQ(part.values("m_W"), (std::vector<double>{0, 10, 11, 12, 13, 14, 0, 0}));
}

TEST_F(RuntimeViews, APartIsNotWrittenAsAWhole) {
  json program = line();
  cut(program, "W", 3, 2);
  RecordedProgram part(program);
  load(part);
  try {
    save(part);
    FAIL() << "written";
  } catch (const std::exception &error) {
    EXPECT_NE(std::string(error.what()).find("'W' cannot be written: this process holds 2 of its 6 elements"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(RuntimeViews, AViewOutsideItsTensorIsRefused) {
  json program = line();
  cut(program, "W", 4, 3);
  EXPECT_THROW(RecordedProgram{program}, std::exception);
  program = line();
  cut(program, "W", 0, 4);
  state(program, "W")["shape"] = {4}; // at 1, four elements do not fit
  EXPECT_THROW(RecordedProgram{program}, std::exception);
}

TEST_F(RuntimeViews, FrozenTensorsAreKeptByHashAlone) {
  json program = line();
  state(program, "W")["role"] = "frozen";
  program["states"].erase(2); // its momentum
  RecordedProgram first(program);
  load(first);
  const rt::Checkpoint checkpoint = save(first);
  const rt::TensorFile file = rt::TensorFile::openSafetensors(path("step-1/model.safetensors"));
  EXPECT_EQ(file.find("w"), nullptr);
  EXPECT_NE(file.find("b"), nullptr);
  ASSERT_EQ(checkpoint.frozen.size(), 1u);

  RecordedProgram again(program);
  load(again);
  rt::loadCheckpoint(checkpoint, rt::frozenTensors(*again.executor), *again.executor);

  RecordedProgram other(program);
  load(other, {{"w", rt::InitSpec::Kind::Ones, 0}});
  try {
    rt::loadCheckpoint(checkpoint, rt::frozenTensors(*other.executor), *other.executor);
    FAIL() << "taken";
  } catch (const std::exception &error) {
    EXPECT_NE(std::string(error.what()).find("the frozen tensor 'w' has other values"), std::string::npos)
        << error.what();
  }
}

} // namespace
} // namespace kedge::test
