// Where rows of an input come from: npy files, token files. Files are mapped; rows are converted one by one.
#pragma once
#include "runtime/format/Npy.h"
#include "runtime/program/Program.h"
#include <memory>

namespace kedge::rt {

/// Rows of one input, already in the input's type and checked against its bounds.
class Source {
public:
  virtual ~Source() = default;
  virtual int64_t rows() const = 0;
  /// Writes row `row` to `destination`. Throws rt::Error that names file, row, element and value for an
  /// index outside the input's bounds. Allocates nothing otherwise.
  virtual void read(int64_t row, char *destination) const = 0;
};

/// Rows of the input's own type and shape at `data`, which stays where it is as long as the source lives.
std::unique_ptr<Source> rowsInMemory(const void *data, int64_t rows, const InputSpec &input);

/// Throws rt::Error when type or shape do not fit the input.
std::unique_ptr<Source> openNpy(const std::string &path, const InputSpec &input);

/// Windows of a token file: nanoGPT's raw uint16 or llm.c's header with uint16 or uint32.
class TokenFile {
public:
  explicit TokenFile(const std::string &path);
  int64_t tokens() const { return count; }
  const std::string &path() const { return file.path(); }
  int64_t at(int64_t position) const;

private:
  FileMap file;
  const char *data = nullptr;
  int64_t count = 0;
  int width = 2;
};

/// Window k = tokens [kT + shift, kT + shift + T); shift is 1 for labels.
std::unique_ptr<Source> openTokens(std::shared_ptr<TokenFile> file, const InputSpec &input, int64_t shift);

} // namespace kedge::rt
