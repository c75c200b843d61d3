// External data: found beside the model, nowhere else.
#include "lib/Model/Model.h"
#include "test/support/OnnxBytes.h"
#include "test/support/TempFolder.h"
#include <gtest/gtest.h>

using namespace kedge::model;
using namespace kedge::test;
namespace fs = std::filesystem;

namespace {

class ModelExternal : public testing::Test {
protected:
  std::string save(const std::string &location, const std::string &offset = "",
                   const std::string &length = "8") {
    Msg graph = Msg().sub(5, externalTensor("w", {2}, location, offset, length));
    return folder.write("m/model.onnx", modelOf(graph).bytes);
  }
  void expectError(const std::string &path, const std::string &part, LoadOptions options = {}) {
    std::string error = messageOf([&] { loadModel(path, options); });
    EXPECT_NE(error.find(part), std::string::npos) << "said: '" << error << "'";
    EXPECT_NE(error.find("'w'"), std::string::npos) << error;
  }
  TempFolder folder;
};

TEST_F(ModelExternal, ReadsAtOffset) {
  folder.write("m/d/w.bin", pack<float>({0, 5, 6, 0}));
  Model model = loadModel(save("d/w.bin", "4"));
  const Tensor &w = model.graph.initializers[0];
  EXPECT_EQ(w.storage, Tensor::Storage::External);
  EXPECT_EQ(w.offset, 4u);
  EXPECT_TRUE(model.usesExternalData);
  EXPECT_EQ(w.floats(), (std::vector<double>{5, 6}));
}

TEST_F(ModelExternal, LengthMayBeLeftOut) {
  folder.write("m/w.bin", pack<float>({1, 2, 3}));
  EXPECT_EQ(loadModel(save("w.bin", "", "")).graph.initializers[0].length, 8u);
}

TEST_F(ModelExternal, OffsetsBeyondFourGigabytes) {
  uint64_t far = uint64_t(5) << 30;
  std::string data = folder.write("m/w.bin", "");
  std::ofstream(data, std::ios::binary | std::ios::in).seekp(static_cast<std::streamoff>(far))
      << pack<float>({7, 8});
  Model model = loadModel(save("w.bin", std::to_string(far)));
  EXPECT_EQ(model.graph.initializers[0].floats(), (std::vector<double>{7, 8}));
}

TEST_F(ModelExternal, PathsThatLeaveTheFolder) {
  folder.write("w.bin", pack<float>({1, 2}));
  folder.write("m2/w.bin", pack<float>({1, 2}));
  expectError(save((folder.path("w.bin")).string()), "is an absolute path");
  expectError(save("../w.bin"), "leads out of the model's folder");
  expectError(save("d/../../w.bin"), "leads out of the model's folder");
  expectError(save("..\\w.bin"), "leads out of the model's folder");
  expectError(save("../m2/w.bin"), "leads out of the model's folder");
  expectError(save(""), "is not a file name");
  expectError(save("."), "leads out of the model's folder");
  fs::create_directories(folder.path("m"));
  fs::create_symlink(folder.path("w.bin"), folder.path("m/link.bin"));
  expectError(save("link.bin"), "outside of the model's folder");
  fs::create_directory_symlink(folder.path("m2"), folder.path("m/dir"));
  expectError(save("dir/w.bin"), "outside of the model's folder");
  // Checked even where the data itself is not needed.
  expectError(save("../w.bin"), "leads out of the model's folder", {.requireExternalData = false});
}

TEST_F(ModelExternal, LinksThatStayInsideAreFine) {
  folder.write("m/data/w.bin", pack<float>({1, 2}));
  fs::create_symlink("data/w.bin", folder.path("m/link.bin"));
  EXPECT_EQ(loadModel(save("link.bin")).graph.initializers[0].floats().size(), 2u);
}

TEST_F(ModelExternal, DownloadCachesLinkModelAndDataIntoOneFolder) {
  save("w.bin");
  fs::create_directories(folder.path("store"));
  fs::rename(folder.path("m/model.onnx"), folder.path("store/abc"));
  folder.write("store/def", pack<float>({1, 2}));
  fs::create_symlink(folder.path("store/abc"), folder.path("m/model.onnx"));
  fs::create_symlink(folder.path("store/def"), folder.path("m/w.bin"));
  EXPECT_EQ(loadModel(folder.path("m/model.onnx")).graph.initializers[0].floats().size(), 2u);
}

TEST_F(ModelExternal, MissingFiles) {
  std::string path = save("gone.bin");
  expectError(path, "'gone.bin' is missing");
  Model model = loadModel(path, {.requireExternalData = false});
  EXPECT_EQ(model.graph.initializers[0].length, 8u);
  EXPECT_NE(messageOf([&] { model.graph.initializers[0].bytes(); }).find("is missing"), std::string::npos);
  fs::create_directories(folder.path("m/gone.bin"));
  expectError(path, "which is a folder, a pipe or a device");
}

TEST_F(ModelExternal, PlacesBeyondTheFile) {
  folder.write("m/w.bin", pack<float>({1, 2}));
  expectError(save("w.bin", "4"), "which has only 8 bytes");
  expectError(save("w.bin", "18446744073709551615"), "which has only 8 bytes");
  expectError(save("w.bin", "4"), "which has only 8 bytes", {.requireExternalData = false});
  expectError(save("w.bin", "0", "12"), "has 12 bytes; expected 8");
  expectError(save("w.bin", "-4"), "offset '-4'");
  expectError(save("w.bin", "4x"), "offset '4x'");
}

} // namespace
