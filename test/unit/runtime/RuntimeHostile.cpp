// Damaged and hostile files, closed descriptors, options beyond reason: errors, never crashes or waits.
#include "runtime/format/NpyHeader.h"
#include "runtime/io/NamePattern.h"
#include "runtime/io/Printable.h"
#include "runtime/program/NumberFlags.h"
#include "runtime/train/Manifest.h"
#include "test/unit/runtime/RuntimeTest.h"
#include <filesystem>
#include <sys/stat.h>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;

class RuntimeHostile : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    writeLineData(10);
  }
  /// A safetensors file with this header and as many bytes of data.
  void writeSafetensors(const std::string &name, const std::string &header, size_t bytes) const {
    const uint64_t length = header.size();
    write(name, std::string(reinterpret_cast<const char *>(&length), 8) + header + std::string(bytes, '\0'));
  }
};

constexpr const char *kFlags = "line --threads 1 --data x=x.npy --data labels=y.npy ";

TEST_F(RuntimeHostile, NpyHeaders) {
  const auto fits = [](const std::string &text) { return rt::parseNpyHeader(text).has_value(); };
  EXPECT_TRUE(fits("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n"));
  EXPECT_TRUE(fits("{\"shape\":(3L,),\"descr\":\"<f4\",\"fortran_order\":True}"));
  EXPECT_EQ(rt::parseNpyHeader("{'descr': '<f4', 'fortran_order': False, 'shape': ()}")->shape.size(), 0u);
  for (const char *shape :
       {"(-3, 4)", "(1.5,)", "(3 4)", "(,)", "(3,,)", "3", "(0x3,)", "(99999999999999999999,)", "(3"})
    EXPECT_FALSE(fits(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + "}"))
        << shape;
  EXPECT_FALSE(fits("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (9,)}"));
  EXPECT_FALSE(fits("{'descr': '<f4', 'shape': (3,)}"));
  EXPECT_FALSE(fits("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x"));
  // What std::regex answered with a stack overflow.
  std::string npy("\x93NUMPY\x01\x00\xff\xff", 10);
  npy += "{'descr': '" + std::string(65524, 'a');
  write("long.npy", npy);
  expectError("line --steps 1 --data x=long.npy --data labels=y.npy", "long.npy: damaged npy header");
  writeNpy<float>("many.npy", "<f4", {int64_t(1) << 62, 3}, {});
  expectError("line --steps 1 --data x=many.npy --data labels=y.npy", "is more than any file holds");
}

TEST_F(RuntimeHostile, Safetensors) {
  const auto weights = [&](const std::string &header, const std::string &part) {
    writeSafetensors("w.safetensors", header, 64);
    expectError("line --steps 0 --weights w.safetensors", part);
  };
  const std::string w = R"("w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]})",
                    b = R"("b":{"dtype":"F32","shape":[2],"data_offsets":)";
  weights("{" + w + "," + w + "}", "holds two tensors named 'w'");
  weights("{" + w + "," + b + "[16,24]}}", "the tensors 'w' and 'b' share bytes");
  weights("{" + w + "," + b + "[-8,24]}}", "expected whole numbers from 0");
  weights(R"({"w":{"dtype":"F32","shape":[-3,-2],"data_offsets":[0,24]}})", "expected whole numbers from 0");
  weights(std::string(100000, '['), "damaged safetensors header");
  weights(std::string(100000, '{'), "damaged safetensors header");
}

TEST_F(RuntimeHostile, Manifests) {
  ASSERT_EQ(run(std::string(kFlags) + "--steps 2 --checkpoint-dir ck").code, 0);
  const auto good = nlohmann::ordered_json::parse(read("ck/step-2/manifest.json"));
  const auto refused = [&](const char *key, const nlohmann::ordered_json &value, const std::string &part) {
    auto manifest = good;
    manifest[key] = value;
    manifest.erase("checksum");
    write("ck/step-2/manifest.json", kedge::rt::sealedManifest(manifest));
    expectError(std::string(kFlags) + "--steps 4 --shuffle 1 --resume ck", part);
  };
  for (const char *counter : {"step", "optimizer_steps", "samples"})
    for (const nlohmann::ordered_json &value :
         {nlohmann::ordered_json(-1), nlohmann::ordered_json(1.5), nlohmann::ordered_json(uint64_t(1) << 63),
          nlohmann::ordered_json("2"), nlohmann::ordered_json::array()})
      refused(counter, value, std::string("'") + counter + "' is ");
  const auto scaled = [&](const char *key, const nlohmann::ordered_json &value) {
    nlohmann::ordered_json manifest = good;
    manifest.update({{"loss_scale", 65536.0}, {"growth_counter", 3}, {"hysteresis", 1}});
    manifest[key] = value;
    manifest.erase("checksum");
    write("ck/step-2/manifest.json", kedge::rt::sealedManifest(manifest));
    expectError(std::string(kFlags) + "--steps 4 --shuffle 1 --resume ck", std::string("'") + key + "' is ");
  };
  scaled("loss_scale", 1e39);
  scaled("loss_scale", 0);
  scaled("growth_counter", 2e12);
  scaled("growth_counter", 2'000'000'000'000);
  scaled("hysteresis", 0);
  const nlohmann::ordered_json best = {{"metric", "loss"}, {"value", 0.5}, {"step", 1}, {"since", 1}};
  const auto otherBest = [&](const char *key, const nlohmann::ordered_json &value, const char *part) {
    auto changed = best;
    changed[key] = value;
    refused("best", changed, part);
  };
  otherBest("step", 3, "'best' is of step 3, expected at most 'step', which is 2");
  otherBest("step", -1, "'step' is -1");
  otherBest("since", 2, "'since' of 'best' is 2, expected at most 1");
  otherBest("since", 0.5, "'since' is 0.5");
  otherBest("value", nullptr, "damaged");
  const nlohmann::ordered_json line = {
      {"loss", 0.5},          {"lr", 0.1},        {"grad_norm", nullptr},
      {"loss_scale", 1.0},    {"skipped", false}, {"growth_counter", 0},
      {"optimizer_steps", 2}, {"seconds", 0.1},   {"samples_per_second", 40.0},
      {"memory_bytes", 100}};
  const auto otherLine = [&](const char *key, const nlohmann::ordered_json &value, const char *part) {
    auto changed = line;
    changed[key] = value;
    refused("unevaluated", changed, part);
  };
  otherLine("lr", -1, "'lr' is -1");
  otherLine("grad_norm", -0.5, "'grad_norm' is -0.5");
  otherLine("loss_scale", 0, "'loss_scale' is 0");
  otherLine("skipped", 1, "damaged");
  otherLine("growth_counter", 1.5, "'growth_counter' is 1.5");
  otherLine("optimizer_steps", 3, "'optimizer_steps' of 'unevaluated' is 3, expected at most 2");
  otherLine("seconds", -1, "'seconds' is -1");
  otherLine("samples_per_second", -1, "'samples_per_second' is -1");
  otherLine("memory_bytes", -5, "'memory_bytes' is -5");
  refused("files", nlohmann::ordered_json::array(), "'model.safetensors' is not in its list of files");
  auto outside = good["files"];
  outside[0]["name"] = "../../x.npy";
  refused("files", outside, "is no name of a file in the folder");
  refused("format", 9, "checkpoint format 9");
  write("ck/step-2/manifest.json", std::string(200000, '['));
  expectError(std::string(kFlags) + "--steps 4 --resume ck", "damaged");
  // A folder that says another step than its name.
  write("ck/step-2/manifest.json", good.dump(1) + "\n");
  fs::rename(path("ck/step-2"), path("ck/step-5"));
  expectError(std::string(kFlags) + "--steps 4 --resume ck", "holds the checkpoint of step 2");
}

/// No bit of a manifest can change without being noticed.
TEST_F(RuntimeHostile, EveryBitOfAManifest) {
  ASSERT_EQ(run(std::string(kFlags) + "--steps 2 --checkpoint-dir ck").code, 0);
  const std::string good = read("ck/step-2/manifest.json");
  ASSERT_NO_THROW(rt::openManifest(good));
  for (size_t at = 0; at < 8 * good.size(); ++at) {
    std::string changed = good;
    changed[at / 8] ^= static_cast<char>(1 << at % 8);
    EXPECT_ANY_THROW(rt::openManifest(changed)) << "bit " << at % 8 << " of byte " << at / 8;
  }
  std::string changed = good;
  changed[good.find("\"samples\": ") + 11] ^= 1; // another whole number
  write("ck/step-2/manifest.json", changed);
  expectError(std::string(kFlags) + "--steps 4 --resume ck", "damaged: its checksum differs");
}

TEST_F(RuntimeHostile, PipesAndDevicesAreNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path("pipe.safetensors"));
  for (const char *flags :
       {"--steps 1 --data x=pipe --data labels=y.npy", "--steps 0 --weights pipe.safetensors",
        "--steps 1 --data x=/dev/zero --data labels=y.npy", "--steps 0 --model pipe"})
    expectError(std::string("line ") + flags, "is not a regular file");
  for (const char *log : {"pipe", "/dev/null", "."})
    expectError(std::string(kFlags) + "--steps 1 --log " + log, "is no regular file");
  fs::create_directories(path("ck/step-1"));
  fs::create_symlink(path("pipe"), path("ck/step-1/manifest.json"));
  expectError(std::string(kFlags) + "--steps 1 --resume ck", "holds no whole checkpoint");
}

TEST_F(RuntimeHostile, ClosedAndFullOutputs) {
  // A closed standard error is no reason to write progress into the log.
  EXPECT_EQ(runCommand("sh -c '" + tinyProgram() + " " + std::string(kFlags) +
                       "--steps 3 --log log.jsonl 0<&- 1>&- 2>&-'")
                .code,
            0);
  EXPECT_EQ(readLog("log.jsonl").size(), 3u);
  const std::string evaluates = "line --steps 0 --eval-data x=x.npy --eval-data labels=y.npy";
  RunResult result = runCommand("sh -c '" + tinyProgram() + " " + evaluates + " >/dev/full'");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("cannot write to standard output: No space left on device"), std::string::npos)
      << result.err;
  // Progress that nobody sees ends the run with a checkpoint.
  result = runCommand("bash -c '" + tinyProgram() + " " + std::string(kFlags) +
                      "--steps 10000 --checkpoint-dir ck 2> >(exec 0<&-; sleep 1); echo $?'");
  EXPECT_EQ(result.out, "1\n");
  EXPECT_TRUE(fs::exists(path("ck"))) << result.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(path("ck")), {}), 1);
}

TEST_F(RuntimeHostile, DataThatShrinks) {
  std::vector<float> x(3 << 20, 0.5f), y(2 << 20, 0.5f);
  writeNpy<float>("x.npy", "<f4", {1 << 20, 3}, x);
  writeNpy<float>("y.npy", "<f4", {1 << 20, 2}, y);
  const RunResult result = runCommand("bash -c '" + tinyProgram() + " " + std::string(kFlags) +
                                      "--steps 100000000 --shuffle 1 --checkpoint-dir ck & sleep 0.3; "
                                      "truncate -s 1000 x.npy; wait $!; echo $?'");
  EXPECT_EQ(result.out, "1\n");
  EXPECT_NE(result.err.find("'x.npy' cannot be read any more: it has become shorter"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("what was trained is in 'ck/step-"), std::string::npos) << result.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(path("ck")), {}), 1);
}

TEST_F(RuntimeHostile, LoopsOnDataEndOnSignals) {
  std::vector<float> x(3 << 20, 0.5f), y(2 << 20, 0.5f);
  writeNpy<float>("x.npy", "<f4", {1 << 20, 3}, x);
  writeNpy<float>("y.npy", "<f4", {1 << 20, 2}, y);
  const std::string data = "--threads 1 --eval-data x=x.npy --eval-data labels=y.npy ";
  for (const std::string &loop : {data + "--steps 0", data + "--steps 0 --predict y=p.npy"}) {
    const RunResult result = runCommand("bash -c '" + tinyProgram() + " line " + loop +
                                        " & sleep 0.05; kill -TERM $!; wait $!; echo $?'");
    EXPECT_EQ(result.out, "143\n") << loop << result.err;
    EXPECT_FALSE(fs::exists(path("p.npy")));
  }
}

TEST_F(RuntimeHostile, NumbersBeyondReason) {
  const auto refused = [&](const std::string &flag, std::initializer_list<const char *> values) {
    for (const char *value : values)
      expectError(std::string(kFlags) + "--steps 1 " + flag + "=" + value,
                  flag + ": expected " + rt::rangeText(*rt::rangeOf(flag)));
  };
  for (const char *flag : {"--lr", "--min-lr", "--weight-decay", "--eps", "--warmup-start", "--comm-timeout"})
    refused(flag, {"nan", "inf", "-1", "1e300", "0x10", "1e"});
  for (const char *flag : {"--steps", "--warmup", "--decay-steps", "--eval-every", "--checkpoint-every",
                           "--keep", "--threads", "--dump-step"})
    refused(flag, {"nan", "-1", "1.5", "1e3", "9223372036854775808", "99999999999999999999"});
  refused("--seed", {"nan", "9223372036854775808"});
  refused("--betas", {"nan,0.9", "0.9,1", "-0.1,0.9"});
  refused("--inject-gradient", {"1e300=nan", "-1=inf", "0.5=inf"});
  expectError("line --steps 0 --init w=normal:inf", "--init: expected a number from 0 to 1e+12, found 'inf'");
}

TEST_F(RuntimeHostile, RegularExpressionsAndNames) {
  const std::string name(100000, 'a');
  EXPECT_FALSE(rt::NamePattern("(a|b)*c").isIn(name));
  EXPECT_FALSE(rt::NamePattern("(a*)*b").isIn(name));
  EXPECT_TRUE(rt::NamePattern("(a|aa)+$").isIn(name));
  const rt::NamePattern ends("bias$|norm"), notNorm("^(?!.*norm).*weight$");
  EXPECT_TRUE(ends.isIn("h.0.bias") && ends.isIn("norm.weight") && !ends.isIn("bias.weight"));
  EXPECT_TRUE(notNorm.isIn("h.weight") && !notNorm.isIn("norm.weight"));
  EXPECT_FALSE(rt::NamePattern("^b").isIn("ab"));
  for (const std::string &wrong : {std::string("a)(b"), std::string("("), std::string("(a)\\1"),
                                   std::string(5000, '('), std::string("a{99999}")})
    EXPECT_THROW(rt::NamePattern{wrong}, rt::PatternError) << wrong;
  expectError("line --steps 0 --init '(=zeros'", "is not an ECMAScript regular expression");
  EXPECT_EQ(rt::printable("a\x1b[31m\n\xe9\xc2\x9b ü"), "a\\x1b[31m\n\\xe9\\xc2\\x9b ü");
  EXPECT_EQ(rt::printable(std::string("a\0b", 3)), "a\\x00b");
  const RunResult result = run("line --steps 1 --data x=$(printf 'caf\\351\\033[31m')");
  EXPECT_NE(result.err.find("cannot open the data file 'caf\\xe9\\x1b[31m'"), std::string::npos)
      << result.err;
}

} // namespace
} // namespace kedge::test
