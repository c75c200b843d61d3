// All inputs of a program with their data, batch by batch.
#pragma once
#include "runtime/data/Documents.h"
#include "runtime/data/LengthOrder.h"
#include "runtime/exec/Executor.h"
#include "runtime/program/Options.h"
#include "runtime/program/World.h"

namespace kedge::rt {

/// The files of a data set, as options name them.
struct DataFiles {
  std::string kind; ///< "--data" or "--eval-data", for messages
  std::vector<NamedFile> data, tokens;
  std::string documents; ///< of the token file
  bool maskPrompt = false, shiftLabels = false;
};

DataFiles trainingFiles(const Options &options);
DataFiles evaluationFiles(const Options &options);

/// What the rows of a batch take, in a program of several lengths.
struct BatchLength {
  const Function *function = nullptr; ///< the smallest that holds them
  int64_t places = 0;                 ///< of a row in it
  int64_t rows = 0;                   ///< of the batch
  int64_t room = 0, filled = 0;       ///< their places, and those that are no padding
};

/// The input that tokens without a name mean: the only [batch, length] integer input that is not labels.
/// Throws if there is none, or another. `flag` needs it.
const InputSpec &tokenInput(const Program &program, const std::string &flag);

class Dataset {
public:
  /// Throws if an input has no data (those of the loss may lack them if `labelsNeeded` is false), a name is
  /// unknown, or numbers of rows differ.
  Dataset(const Program &program, const DataFiles &files, bool labelsNeeded);

  /// Rows in memory with the names of their inputs. `how` tells in messages how an input is given.
  using Given = std::vector<std::pair<std::string, std::unique_ptr<Source>>>;
  Dataset(const Program &program, Given given, const std::string &how, bool labelsNeeded);

  int64_t rows() const { return rowCount; }
  /// Whether evaluation has all that it reads.
  bool hasLabels() const { return labelled; }
  /// Throws unless the labels that the output is made of have data.
  void expectLabelsOf(const std::string &output) const;

  /// What to note: inputs that have no data but a default, and data that nothing reads. Empty: nothing.
  std::string aboutInputs() const;

  /// What to warn of: labels that equal an input. Empty: nothing.
  std::string aboutLabels() const;

  /// What to warn of: bytes of pictures as they are stored. Empty: nothing. Looks at the first rows.
  std::string aboutPixels() const;

  /// Permutes the samples anew in each epoch. Without a seed they stay in order.
  void shuffle(std::optional<int64_t> seed) { shuffleSeed = seed; }

  /// For programs of several lengths: reads from the data where rows end. Where rows are shuffled, each
  /// `batch` of them are about as long as each other. Throws where the data do not tell it.
  void readLengths(int64_t batch);
  /// What the rows of all ranks need of `function` together; rows as fill (or, if `inOrder`, fillMasked)
  /// takes them. Of a program of one length: `function` itself, and no rows.
  BatchLength lengthOf(const std::string &function, int64_t first, int64_t count, bool inOrder = false) const;

  /// Writes these rows of the run into the inputs of `function`: row numbers modulo
  /// the number of samples, permuted if shuffled. They must be a complete micro-batch. What lies behind the
  /// length that the function takes is left out.
  void fill(Executor &executor, const std::string &function, RowRange rows) const;

  /// For evaluation: writes these rows; the rest of the batch repeats the last one (or row 0, if there are
  /// none).
  void fillMasked(Executor &executor, const std::string &function, RowRange valid) const;

  /// Sets the labels of rows from `valid` on to `ignored`.
  void maskLabels(Executor &executor, const std::string &function, int64_t valid, int64_t ignored) const;

  /// Checks the integers of these rows (as fill takes them) against their bounds. Changes nothing.
  void checkIntegers(RowRange rows) const;

  /// A float in a file, and its place in the batch.
  struct Position {
    std::string file;
    int64_t row = 0, element = 0; ///< row of the file, and element of that row
    int64_t inBatch = 0;          ///< element of the input
  };
  /// The first non-finite value in these rows (as fill takes them).
  std::optional<Position> firstNonFinite(RowRange rows) const;

  /// Number of labels in the first `valid` rows of the current batch that are not ignored; `valid` if there
  /// are no labels.
  int64_t countLabels(Executor &executor, const std::string &function, int64_t valid) const;

private:
  struct Bound {
    const InputSpec *input = nullptr;
    std::unique_ptr<Source> source;
    std::string file;
    size_t rowBytes = 0;
  };
  void check(const std::string &kind, const std::string &how, bool labelsNeeded);
  void bindTokens(const DataFiles &files);
  void bindRows(const PackedTokens &packed, const InputSpec &input, const std::string &file,
                const DataFiles &files);
  void bindDefaults();
  std::unique_ptr<Source> nextTokens(const PackedTokens &packed, const InputSpec &labels,
                                     const DataFiles &files) const;
  void bindPacked(const PackedTokens &packed, const std::string &file);
  int64_t ignoredLabel(const char *flag) const;
  void bind(const InputSpec &input, std::unique_ptr<Source> source, const std::string &file);
  bool bound(const InputSpec &input) const;
  int64_t sample(int64_t index) const;
  void readRow(const Bound &entry, const TensorDesc &taken, int64_t row, char *destination) const;
  template <typename RowOf>
  void fillRows(Executor &executor, const std::string &function, RowOf &&rowOf) const;

  const Program &program;
  std::vector<Bound> sources;
  int64_t rowCount = 0;
  bool labelled = false, shifted = false;
  std::string defaults, unread;
  std::optional<int64_t> shuffleSeed;
  std::unique_ptr<RowLengths> lengths; ///< null: rows have one length
  std::map<std::string, std::vector<const Function *>> buckets;
  std::unique_ptr<LengthOrder> order; ///< null: that of `shuffleSeed` alone
  mutable std::vector<char> whole;    ///< a row of which a part is taken
};

} // namespace kedge::rt
