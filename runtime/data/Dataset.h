// All inputs of a program with their data, batch by batch.
#pragma once
#include "runtime/data/Source.h"
#include "runtime/exec/Executor.h"
#include "runtime/program/Options.h"
#include "runtime/program/World.h"

namespace kedge::rt {

class Dataset {
public:
  /// `kind` is "--data" or "--eval-data", for messages. Throws if an input has no data (labels
  /// may lack them if `labelsNeeded` is false), a name is unknown, or numbers of rows differ.
  Dataset(const Program &program, const std::vector<NamedFile> &data, const std::vector<NamedFile> &tokens,
          const std::string &kind, bool labelsNeeded);

  /// Rows in memory with the names of their inputs. `how` tells in messages how an input is given.
  using Given = std::vector<std::pair<std::string, std::unique_ptr<Source>>>;
  Dataset(const Program &program, Given given, const std::string &how, bool labelsNeeded);

  int64_t rows() const { return rowCount; }
  bool hasLabels() const { return labelled; }

  /// Permutes the samples anew in each epoch. Without a seed they stay in order.
  void shuffle(std::optional<int64_t> seed) { shuffleSeed = seed; }

  /// Writes these rows of the run into the inputs of `function`: row numbers modulo
  /// the number of samples, permuted if shuffled. They must be a complete micro-batch.
  void fill(Executor &executor, const std::string &function, RowRange rows) const;

  /// For evaluation: writes these rows; the rest of the batch repeats the last one (or row 0, if there are none).
  void fillMasked(Executor &executor, const std::string &function, RowRange valid) const;

  /// Sets the labels of rows from `valid` on to `ignored`.
  void maskLabels(Executor &executor, const std::string &function, int64_t valid, int64_t ignored) const;

  /// Checks the integers of these rows (as fill takes them) against their bounds. Changes nothing.
  void checkIntegers(RowRange rows) const;

  /// A float in a file, and its place in the batch.
  struct Place {
    std::string file;
    int64_t row = 0, element = 0; ///< row of the file, and element of that row
    int64_t inBatch = 0;          ///< element of the input
  };
  /// The first non-finite value in these rows (as fill takes them).
  std::optional<Place> firstNonFinite(RowRange rows) const;

  /// Number of labels in the first `valid` rows of the current batch that are not ignored; `valid` if there are no labels.
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
