// CUDA's libraries, opened while the program starts: a program says itself what is missing, and links none of them.
#pragma once
#include <string>
#include <vector>

namespace kedge::rt::cuda {

/// Stays open until the process ends: CUDA's libraries hold threads and state that outlive their users.
class SharedLibrary {
public:
  /// Opens the first name of `sonames` that is found: where the loader looks (LD_LIBRARY_PATH, its cache), then in
  /// searchFolders(). Throws rt::Error with what was looked for, where, and `remedy`.
  static SharedLibrary open(const std::vector<std::string> &sonames, const std::string &remedy);
  /// The same without an error: isOpen() tells.
  static SharedLibrary tryOpen(const std::vector<std::string> &sonames);

  bool isOpen() const { return handle != nullptr; }
  /// The name that was opened, with its folder where one was searched.
  const std::string &name() const { return opened; }
  /// Throws rt::Error when the library lacks the function: it is older than expected.
  void *symbol(const char *function) const;
  void *trySymbol(const char *function) const;

  template <typename Function> void bind(Function *&pointer, const char *function) const {
    pointer = reinterpret_cast<Function *>(symbol(function));
  }

private:
  void *handle = nullptr;
  std::string opened;
};

/// Toolkits ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda*), then NVIDIA's Python wheels (nvidia/*/lib in the usual
/// site-packages and in those of python3 on PATH). Folders that exist, in order.
std::vector<std::string> searchFolders();

} // namespace kedge::rt::cuda
