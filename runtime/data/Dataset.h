// All inputs of a program with their sources, batch by batch.
#pragma once
#include "runtime/data/Source.h"
#include "runtime/exec/Executor.h"
#include "runtime/program/Options.h"
#include "runtime/program/World.h"

namespace kedge::rt {

class Dataset {
public:
  /// `kind` is "--data" or "--eval-data" in messages. Throws when an input has no source (labels may lack one
  /// when `labelsNeeded` is false), a name is unknown, or row counts differ.
  Dataset(const Program &program, const std::vector<NamedFile> &data, const std::vector<NamedFile> &tokens,
          const std::string &kind, bool labelsNeeded);

  /// Rows that lie in memory, by the names of their inputs. `how` says in messages how an input is given.
  using Given = std::vector<std::pair<std::string, std::unique_ptr<Source>>>;
  Dataset(const Program &program, Given given, const std::string &how, bool labelsNeeded);

  int64_t rows() const { return rowCount; }
  bool hasLabels() const { return labelled; }

  /// Permutes the samples once an epoch; absent: in order.
  void shuffle(std::optional<int64_t> seed) { shuffleSeed = seed; }

  /// Writes these rows of the run (modulo the number of samples, through the permutation) into the inputs of
  /// `function`; they are a whole micro-batch.
  void fill(Executor &executor, const std::string &function, RowRange rows) const;

  /// For evaluation: these rows; further rows of the batch repeat the last one, or where there is none row 0.
  void fillMasked(Executor &executor, const std::string &function, RowRange valid) const;

  /// Sets the labels of rows valid .. B - 1 to `ignored`.
  void maskLabels(Executor &executor, const std::string &function, int64_t valid, int64_t ignored) const;

  /// Reads the integers of these rows (as fill takes them) against their bounds, and changes nothing.
  void checkIntegers(RowRange rows) const;

  /// A float of a file, and where it lies in the batch.
  struct Place {
    std::string file;
    int64_t row = 0, element = 0; ///< of the file, and within the row
    int64_t inBatch = 0;          ///< element of the input
  };
  /// The first that is not finite in these rows (as fill takes them).
  std::optional<Place> firstNonFinite(RowRange rows) const;

  /// Labels of the current batch's first `valid` rows that are not ignored; `valid` without labels.
  int64_t countLabels(Executor &executor, const std::string &function, int64_t valid) const;

private:
  struct Bound {
    const InputSpec *input = nullptr;
    std::unique_ptr<Source> source;
    std::string file;
    size_t rowBytes = 0;
  };
  void check(const std::string &kind, const std::string &how, bool labelsNeeded);
  void bindTokens(const std::vector<NamedFile> &tokens, const std::string &kind);
  void bind(const InputSpec &input, std::unique_ptr<Source> source, const std::string &file);
  bool bound(const InputSpec &input) const;
  int64_t sample(int64_t index) const;
  template <typename RowOf>
  void fillRows(Executor &executor, const std::string &function, RowOf &&rowOf) const;

  const Program &program;
  std::vector<Bound> sources;
  int64_t rowCount = 0;
  bool labelled = false;
  std::optional<int64_t> shuffleSeed;
};

} // namespace kedge::rt
