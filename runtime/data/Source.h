// Reads the rows of an input from npy and token files. Files are memory-mapped; rows are converted one by
// one.
#pragma once
#include "runtime/format/Npy.h"
#include "runtime/program/Program.h"
#include <memory>

namespace kedge::rt {

/// Rows of one input, converted to the input's type and checked against its bounds.
class Source {
public:
  virtual ~Source() = default;
  virtual int64_t rows() const = 0;
  /// Writes row `row` to `destination`. Throws rt::RuntimeError that names file, row,
  /// element and value if an index is out of bounds. Otherwise allocates nothing.
  virtual void read(int64_t row, char *destination) const = 0;
};

/// Rows at `data` that have the input's type and shape. They must stay there while the source is used.
std::unique_ptr<Source> rowsInMemory(const void *data, int64_t rows, const InputSpec &input);

/// Throws rt::RuntimeError if type or shape do not fit the input.
std::unique_ptr<Source> openNpy(const std::string &path, const InputSpec &input);

/// A token file: one of integers as numpy.save writes it, raw uint16 as in nanoGPT, or uint16 or uint32 with
/// llm.c's header.
class TokenFile {
public:
  explicit TokenFile(const std::string &path);
  int64_t tokens() const { return count; }
  const std::string &path() const { return file.path(); }
  int64_t at(int64_t position) const;

  /// Throws rt::RuntimeError if a file without header does not look like uint16 tokens of this vocabulary.
  void checkRaw(const InputSpec &input) const;

private:
  void openNpy();
  void openFlat();
  void openRaw();

  FileMap file;
  const char *data = nullptr;
  int64_t count = 0;
  DType type = DType::U16;
  bool raw = false;
};

/// Window k is the tokens [kT + shift, kT + shift + T); shift is 1 for labels.
std::unique_ptr<Source> openTokens(std::shared_ptr<TokenFile> file, const InputSpec &input, int64_t shift);

/// Labels that are the inputs themselves, as Hugging Face's models take them: element i of a row becomes
/// element i + 1, the last one `ignored`.
std::unique_ptr<Source> shiftLabels(std::unique_ptr<Source> labels, const InputSpec &input, int64_t ignored);

} // namespace kedge::rt
