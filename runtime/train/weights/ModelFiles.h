// The model file that was compiled and its external data.
#pragma once
#include "runtime/io/FileMap.h"
#include "runtime/program/Program.h"
#include <memory>

namespace kedge::rt {

/// Files are opened and checked on first use.
class ModelFiles {
public:
  /// `model`: --model; empty: the path at compile time.
  ModelFiles(const Program &program, const std::string &model);
  /// Throws rt::RuntimeError if it is not the file that was compiled, or if the program has no such file.
  const FileMap &file(int index);

private:
  void openChecked(size_t index, const std::string &place);
  void checkHash();

  const Program &program;
  std::string path;
  std::vector<std::unique_ptr<FileMap>> maps;
};

} // namespace kedge::rt
