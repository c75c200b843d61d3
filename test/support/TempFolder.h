// A folder that is gone after the test.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace kedge::test {

class TempFolder {
public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kedge-test-XXXXXX").string();
    root = ::mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(root); }
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;

  std::filesystem::path path(const std::string &name) const { return root / name; }
  std::string write(const std::string &name, const std::string &content) const {
    std::filesystem::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name).string();
  }
  std::string read(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (const auto &item : std::filesystem::directory_iterator(root))
      names.push_back(item.path().filename().string());
    return names;
  }

private:
  std::filesystem::path root;
};

/// What an expression throws, as text; "" when it does not.
template <typename F> std::string messageOf(F &&body) {
  try {
    body();
  } catch (const std::exception &e) {
    return e.what();
  }
  return "";
}

} // namespace kedge::test
