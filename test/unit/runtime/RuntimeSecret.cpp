// The secret of a job: where it comes from, and the hash that proves it, by the vectors of its standards.
#include "runtime/comm/tcp/Secret.h"
#include "runtime/io/Error.h"
#include "test/support/ScopedVariable.h"
#include "test/support/TempFolder.h"
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace kedge::test {
namespace {

using namespace rt::tcp;

std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

std::string hex(const Digest &digest) { return fmt::format("{:02x}", fmt::join(digest, "")); }

TEST(RuntimeSecret, Sha256OfItsStandard) { // FIPS 180-4, RFC 6234
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256(bytesOf("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256(bytesOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(bytesOf(std::string(1'000'000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(RuntimeSecret, InPiecesAsAtOnce) {
  for (size_t length = 0; length < 200; ++length) {
    const std::string text(length, 'k');
    for (const size_t step : {1, 63, 64, 65}) {
      Sha256 hash;
      for (size_t at = 0; at < length; at += step)
        hash.add(bytesOf(text).subspan(at, std::min(step, length - at)));
      ASSERT_EQ(hash.end(), sha256(bytesOf(text))) << length << " by " << step;
    }
  }
}

TEST(RuntimeSecret, HmacOfItsStandard) { // RFC 4231
  const auto mac = [](const std::string &key, const std::string &message) {
    return hex(hmacSha256(bytesOf(key), bytesOf(message)));
  };
  EXPECT_EQ(mac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(mac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(mac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(mac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

class RuntimeSecretFile : public testing::Test {
protected:
  std::string file(const std::string &content, mode_t mode) {
    const std::string path = folder.path("secret").string();
    std::ofstream(path) << content;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string refusal() {
    try {
      secretOfJob();
      return "";
    } catch (const rt::RuntimeError &error) {
      return error.what();
    }
  }
  const TempFolder folder;
};

TEST_F(RuntimeSecretFile, IsTheTextWithoutItsLineEnd) {
  EXPECT_FALSE(secretOfJob().isGiven());
  const Digest expected = Secret("a secret of some length").sign({});
  {
    const ScopedVariable text("KEDGE_JOB_SECRET", "a secret of some length");
    EXPECT_EQ(secretOfJob().sign({}), expected);
  }
  const ScopedVariable path("KEDGE_JOB_SECRET_FILE", file("a secret of some length\n", 0600).c_str());
  EXPECT_EQ(secretOfJob().sign({}), expected);
  const ScopedVariable text("KEDGE_JOB_SECRET", "another secret of some length");
  EXPECT_NE(refusal().find("are both set"), std::string::npos);
}

TEST_F(RuntimeSecretFile, ShortOnesAndFilesOfOthersAreRefused) {
  for (const char *words : {"", "fifteen letters"}) {
    const ScopedVariable text("KEDGE_JOB_SECRET", words);
    EXPECT_NE(refusal().find("expected 16 to 4096"), std::string::npos) << refusal();
  }
  for (const mode_t mode : {0640, 0604, 0660, 0602}) {
    const ScopedVariable path("KEDGE_JOB_SECRET_FILE", file("a secret of some length", mode).c_str());
    EXPECT_NE(refusal().find("so that others can use the secret: chmod 600"), std::string::npos) << refusal();
  }
  {
    const ScopedVariable path("KEDGE_JOB_SECRET_FILE", file(std::string(5000, 'a'), 0600).c_str());
    EXPECT_NE(refusal().find("too many bytes"), std::string::npos) << refusal();
  }
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
  for (const char *name : {"none", "fifo", ""}) {
    const ScopedVariable path("KEDGE_JOB_SECRET_FILE", folder.path(name).c_str());
    EXPECT_NE(refusal().find("KEDGE_JOB_SECRET_FILE="), std::string::npos) << name;
  }
}

} // namespace
} // namespace kedge::test
