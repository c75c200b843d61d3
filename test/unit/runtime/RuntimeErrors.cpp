// What goes wrong is told once, with place and remedy, and nothing is left behind.
#include "runtime/format/TensorFile.h"
#include "test/unit/runtime/RuntimeTest.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <cmath>
#include <filesystem>

namespace kedge::test {
namespace {

class RuntimeErrors : public RuntimeTest {};

TEST_F(RuntimeErrors, DataFiles) {
  writeLineData(8);
  expectError("line --steps 2 --data x=x.npy",
              "no data for the labels 'labels': give --data labels=FILE.npy");
  expectError("line --steps 2 --data z=x.npy", "the program has no such input; it has 'x', 'labels'");
  expectError("line --steps 2 --data x=none.npy", "cannot open the data file 'none.npy'");
  expectError("line --steps 2 --data x=y.npy --data labels=y.npy",
              "rows have shape [2], the input 'x' takes rows of shape [3]");
  expectError("line --steps 2 --data x", "expected NAME=FILE");
  writeNpy<float>("few.npy", "<f4", {3, 2}, std::vector<float>(6));
  expectError("line --steps 2 --data x=x.npy --data labels=few.npy",
              "different numbers of rows: 'x' 8 (x.npy), 'labels' 3 (few.npy)");
  write("text.npy", "not numpy at all");
  expectError("line --steps 2 --data x=text.npy --data labels=y.npy", "not an npy file");
  write("torn.npy", read("x.npy").substr(0, 100));
  expectError("line --steps 2 --data x=torn.npy --data labels=y.npy", "torn.npy: truncated");
  writeNpy<double>("big.npy", ">f8", {8, 3}, std::vector<double>(24));
  expectError("line --steps 2 --data x=big.npy --data labels=y.npy", "elements of type '>f8'");
  expectError(std::string("line") + kLineData, "--steps N is missing");
}

TEST_F(RuntimeErrors, LabelsAndTokensOutOfRange) {
  writeNpy<int64_t>("ids.npy", "<i8", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  writeNpy<int64_t>("labels.npy", "<i8", {2, 4}, {0, 1, 2, 3, -100, 5, 9, 7});
  expectError(
      "bigram:1 --steps 3 --data ids=ids.npy --data labels=labels.npy --checkpoint-dir ck --checkpoint-every "
      "2",
      "labels.npy: row 1, element 2: 9 is out of range for the labels 'labels', which takes 0..7, or -100");
  EXPECT_FALSE(std::filesystem::exists(path("ck/step-2")));
  expectError("bigram:1 --steps 3 --data ids=labels.npy --data labels=labels.npy",
              "row 1, element 0: -100 is out of range for the input 'ids', which takes 0..7");
  std::vector<uint16_t> tokens(20, 3);
  tokens[11] = 300;
  write("t.bin", {reinterpret_cast<const char *>(tokens.data()), 40});
  expectError("bigram:1 --steps 9 --tokens t.bin", "the token at position 11 is 300, outside the vocabulary");
  write("short.bin", std::string(8, '\0'));
  expectError("bigram:1 --steps 9 --tokens short.bin", "has 4 tokens, a window of 'ids' needs 5");
  write("odd.bin", std::string(9, '\0'));
  expectError("bigram:1 --steps 9 --tokens odd.bin", "no whole number of uint16 tokens");
}

TEST_F(RuntimeErrors, Models) {
  writeLineData(8);
  const std::string model = read("model.bin");
  const std::string flags = std::string("line --steps 1") + kLineData;
  std::filesystem::rename(path("model.bin"), path("moved.bin"));
  expectError(flags, "cannot open the model file (--model names another place) 'model.bin'");
  EXPECT_EQ(run(flags + "--model moved.bin").code, 0);
  write("model.bin", model + "x");
  expectError(flags, "not the file that was compiled: expected 52 bytes, found 53");
  std::string other = model;
  other[3] ^= 1;
  write("model.bin", other);
  expectError(flags, "another model than the one that was compiled");
  std::string weights = model;
  weights[20] ^= 1;
  write("model.bin", weights);
  EXPECT_EQ(run(flags).code, 0) << "other weights are the same model";
}

TEST_F(RuntimeErrors, WeightFiles) {
  writeLineData(8);
  ASSERT_EQ(run("line --steps 0 --export-safetensors w.safetensors").code, 0);
  expectError("bigram --steps 0 --weights w.safetensors --export-safetensors o.safetensors",
              "has no tensor 'table'; there are 'b', 'w'; give a file of this model's weights");
  EXPECT_FALSE(std::filesystem::exists(path("o.safetensors")));
  write("cut.safetensors", read("w.safetensors").substr(0, 40));
  expectError("line --steps 0 --weights cut.safetensors", "truncated");
  expectError(
      "line --steps 0 --weights w.txt",
      "expected a file that ends in .onnx, .safetensors or .safetensors.index.json, or a folder of them");
  expectError("line --steps 0 --init 'nothing=zeros'", "no parameter or buffer has such a name");
  expectError("line --steps 0 --init 'w=gauss:1'", "none of zeros, ones, normal:STD, uniform:A");
}

TEST_F(RuntimeErrors, ALossThatIsNotFinite) {
  writeLineData(8);
  expectError(
      std::string("line --steps 400 --lr 1e6 --log log.jsonl --checkpoint-dir ck --checkpoint-every 1") +
          kLineData,
      "is not finite");
  const RunResult result = run(
      std::string("line --steps 4 --inject-gradient 1=nan --log log.jsonl --checkpoint-dir ck2") + kLineData);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("the gradients of step 1 are not finite (grad_norm nan), run again with the "
                            "weights that it had updated: the first value that is not finite is nan, "
                            "element 0 of the gradient of 'w'"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(readLog("log.jsonl").size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(path("ck2/step-4")));
  const RunResult on = run(
      std::string("line --steps 4 --inject-gradient 1=-inf --on-nan continue --log log.jsonl") + kLineData);
  EXPECT_EQ(on.code, 1);
  EXPECT_NE(on.err.find("cannot leave a step's updates out"), std::string::npos) << on.err;
  std::vector<float> x(24, 1);
  x[7] = INFINITY;
  writeNpy("x.npy", "<f4", {8, 3}, x);
  expectError(std::string("line --steps 3") + kLineData,
              "inf, element 7 of input 'x', which is row 2, element 1 of x.npy; correct the data");
}

TEST_F(RuntimeErrors, FlagsThatDoNotFit) {
  writeLineData(8);
  expectError("line --steps 2 --schedule wsd", "needs --decay-steps");
  expectError("line --steps 2 --resume", "--resume needs --checkpoint-dir");
  expectError("bigram --steps 2 --export-onnx a.onnx", "holds no inference model");
  expectError("line --steps 2 --export-onnx a.onnx --export-training-mode", "holds no training model");
  expectError("line --steps 0 --export-safetensors none/a.safetensors", "cannot write into 'none'");
  write("file", "");
  expectError("line --steps 2 --checkpoint-dir file/ck",
              "--checkpoint-dir file/ck: cannot write into it: Not a directory");
  expectError("line --steps 0 --predict y=p.npy", "--predict needs --eval-data");
  expectError("line --steps 0 --eval-data x=x.npy --predict z=p.npy", "no such output; it has 'y'");
  expectError("line --setps 2", "--setps");
}

TEST_F(RuntimeErrors, NoItemsIsAWarning) {
  writeNpy<int64_t>("ids.npy", "<i8", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  writeNpy<int64_t>("labels.npy", "<i8", {2, 4}, std::vector<int64_t>(8, -100));
  const RunResult result =
      run("bigram --steps 2 --data ids=ids.npy --data labels=labels.npy --log log.jsonl");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("warning: step 0 has no item"), std::string::npos);
  EXPECT_EQ(readLog("log.jsonl")[0]["loss"], 0.0);
}

} // namespace
} // namespace kedge::test
