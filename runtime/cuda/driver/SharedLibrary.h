// Opens CUDA's libraries when the program starts. Programs are not linked with them, so they can say what is
// missing.
#pragma once
#include <string>
#include <vector>

namespace kedge::rt::cuda {

/// Stays open until the process ends, because CUDA's libraries have threads and state that live on after
/// their last use.
class SharedLibrary {
public:
  /// Opens the first of `sonames` that is found: first by the system's loader (LD_LIBRARY_PATH, its
  /// cache), then in searchFolders(). Otherwise throws rt::RuntimeError with the names, the folders and
  /// `remedy`.
  static SharedLibrary open(const std::vector<std::string> &sonames, const std::string &remedy);
  /// The same without an error; isOpen() tells whether it was found.
  static SharedLibrary tryOpen(const std::vector<std::string> &sonames);

  bool isOpen() const { return handle != nullptr; }
  /// The name that was opened; with its folder if it was found in searchFolders().
  const std::string &name() const { return opened; }
  /// Throws rt::RuntimeError if the library lacks the function, so it is older than expected.
  void *symbol(const char *function) const;
  void *trySymbol(const char *function) const;

  template <typename Function> void bind(Function *&pointer, const char *function) const {
    pointer = reinterpret_cast<Function *>(symbol(function));
  }

private:
  void *handle = nullptr;
  std::string opened;
};

/// Existing folders, in this order: toolkits ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda*), then NVIDIA's
/// Python wheels (nvidia/*/lib in the usual site-packages and in those of the python3 on PATH).
std::vector<std::string> searchFolders();

} // namespace kedge::rt::cuda
