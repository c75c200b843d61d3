// Text files, cut into tasks: each is encoded by itself, and their tokens in order are those of the files.
#pragma once
#include "runtime/io/FileMap.h"
#include <string>
#include <vector>

namespace kedge::driver {

enum class TextKind { Whole, Lines, JsonLines };

struct TextFile {
  rt::FileMap map;
  TextKind kind;
};

/// Part of a file: some of its lines, or of its only document.
struct TextTask {
  const TextFile *file = nullptr;
  size_t begin = 0, end = 0;
  size_t line = 1;                ///< number of its first line
  bool first = true, last = true; ///< begins, ends a document
};

/// Gives the tasks of files one after another.
class TextTasks {
public:
  /// `cutsDocuments`: a document may be cut between lines (Tokenizer::cutsAtLines).
  TextTasks(const std::vector<std::string> &paths, bool lines, bool cutsDocuments);
  /// False when there are no more.
  bool next(TextTask &task);

private:
  size_t endOfTask(const TextFile &file, size_t begin) const;

  std::vector<TextFile> files;
  bool cutsDocuments;
  size_t at = 0, place = 0, line = 1; ///< the file, the byte and its line
};

} // namespace kedge::driver
