// Where the rows of a data set end, for programs that have functions for several lengths.
#pragma once
#include "runtime/data/Source.h"
#include "runtime/program/Buckets.h"
#include <span>

namespace kedge::rt {

/// What a row needs: `places` of its inputs, and the function of bucket `bucket`.
struct RowLength {
  int64_t places = 0;
  size_t bucket = 0;
};

/// An input, where it comes from, and whether the user gave it.
struct RowSource {
  const InputSpec *input = nullptr;
  const Source *source = nullptr;
  bool given = false;
};

/// A row ends behind its last label that counts and the last place that its attention mask shows.
class RowLengths {
public:
  /// Throws rt::RuntimeError where no input tells it.
  RowLengths(const Program &program, const std::string &function, const std::vector<RowSource> &sources);

  RowLength of(int64_t row) const;
  /// The places of a row in a bucket: of the inputs that tell its length.
  int64_t placesIn(size_t bucket) const { return buckets[bucket].places; }

private:
  struct Telling {
    const InputSpec *input;
    const Source *source;
    double silent;              ///< the value that does not count
    std::vector<int64_t> sizes; ///< in each bucket
  };
  struct Bucket {
    const Function *function;
    int64_t places = 0;
  };
  void addTelling(const Program &program, const RowSource &source);
  void checkAllTold(const std::vector<RowSource> &sources) const;

  std::vector<Bucket> buckets;
  std::vector<Telling> telling;
  mutable std::vector<char> bytes; ///< of one row
};

/// Copies what lies in the first `to` of each axis of a tensor of the sizes `from`.
void copyFront(const char *source, std::span<const int64_t> from, char *destination,
               std::span<const int64_t> to, size_t elementBytes);

} // namespace kedge::rt
