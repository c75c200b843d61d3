// Runs on meshes whose ranks hold boxes of the weight: they train, save and write what others do, to the bit.
#include "runtime/format/TensorFile.h"
#include "test/unit/runtime/RuntimeTest.h"
#include <filesystem>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;

struct Form {
  int ranks;
  std::string mesh, cut;
};

/// All train on two places of rows, so that sums have one order.
const std::vector<Form> kForms{{2, "data=2", "flat"},
                               {2, "data=2", "columns"},
                               {4, "data=2,tensor=2", "columns"},
                               {2, "data=2", "rows"},
                               {4, "data=2,tensor=2", "flat-columns"},
                               {4, "replica=2,tensor=2", "sections"},
                               {2, "replica=2", "flat"},
                               {6, "data=2,tensor=3", "rows"},
                               {4, "data=2,tensor=2", "flat"}};

class RuntimeRankBoxes : public RuntimeTest {
protected:
  void run(const Form &form, const std::string &arguments) {
    const RunResult result = attempt(form, arguments);
    ASSERT_EQ(result.code, 0) << form.mesh << " " << form.cut << "\n" << result.err;
  }
  std::vector<std::string> tensorNames(const std::string &file) const {
    std::vector<std::string> names;
    const rt::TensorFile opened = rt::TensorFile::openSafetensors(path(file));
    for (const auto &[name, view] : opened.tensors())
      names.push_back(name);
    return names;
  }
  RunResult attempt(const Form &form, const std::string &arguments) {
    return runCommand("timeout 600 mpirun --allow-run-as-root --oversubscribe -np " +
                      std::to_string(form.ranks) + " " + tinyProgram() + " boxes/" + form.mesh + "/" +
                      form.cut + "/3 --threads 1 " + arguments);
  }
};

TEST_F(RuntimeRankBoxes, AllFormsWriteTheSame) {
  writeLineData(17);
  const std::string flags =
      std::string(kLineData) +
      "--steps 4 --shuffle 3 --eval-data x=x.npy --eval-data labels=y.npy --eval-every 2 "
      "--dump-step 2 --init w=normal:0.5 ";
  for (size_t i = 0; i < kForms.size(); ++i) {
    const std::string n = std::to_string(i);
    run(kForms[i], flags + "--predict y=" + n + ".npy --log " + n + ".jsonl --export-safetensors " + n +
                       ".safetensors --export-onnx " + n + ".onnx --dump-gradients " + n + ".gradients");
    for (const char *file : {".npy", ".safetensors", ".onnx", ".gradients"})
      EXPECT_EQ(read(n + file), read(std::string("0") + file))
          << kForms[i].mesh << " " << kForms[i].cut << file;
    EXPECT_EQ(withoutTimes(readLog(n + ".jsonl")), withoutTimes(readLog("0.jsonl"))) << kForms[i].mesh;
  }
  EXPECT_EQ(tensorNames("0.gradients"), (std::vector<std::string>{"b", "w"}));
  // Given weights, of which each rank takes its part.
  for (const Form &form : {kForms[2], kForms[5]}) {
    run(form, kLineData + std::string("--steps 1 --lr 0 --weights 0.safetensors --export-safetensors again"));
    EXPECT_EQ(read("again"), read("0.safetensors")) << form.mesh;
  }
}

TEST_F(RuntimeRankBoxes, ACheckpointOfAnyFormGoesOnInAnyOther) {
  writeLineData(20);
  const int steps = static_cast<int>(kForms.size()) + 1;
  const auto flags = [](int end) {
    return kLineData + std::string("--schedule constant --checkpoint-every 1 --keep 9 --steps ") +
           std::to_string(end) + " --checkpoint-dir ";
  };
  run(kForms[0], flags(steps) + "whole --export-safetensors whole.safetensors");
  run(kForms.back(), flags(1) + "chain");
  for (size_t i = 0; i < kForms.size(); ++i)
    run(kForms[i], flags(static_cast<int>(i) + 2) + "chain --resume --export-safetensors chain.safetensors");
  EXPECT_EQ(read("chain.safetensors"), read("whole.safetensors"));
  // Of what several ranks hold alike there is one part.
  const rt::TensorFile box = rt::TensorFile::openSafetensors(path("chain/step-4/model.rank-1.safetensors"));
  ASSERT_NE(box.find("w"), nullptr);
  EXPECT_EQ(box.find("w")->desc.elements(), 2);
  EXPECT_FALSE(fs::exists(path("chain/step-4/model.rank-2.safetensors")));
  EXPECT_NE(read("chain/step-4/manifest.json").find("\"mesh\": \"tensor=2\""), std::string::npos);
}

} // namespace
} // namespace kedge::test
