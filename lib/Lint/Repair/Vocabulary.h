// The values of a graph that have an axis of the vocabulary's length.
#pragma once
#include "lib/Lint/VocabularySize.h"
#include "lib/Model/Model.h"
#include <map>
#include <optional>
#include <set>

namespace kedge::lint {

/// Finds the tables of a vocabulary and where its axis goes from there: to a head, and through what reads its
/// logits.
class VocabularyAxis {
public:
  /// Throws kedge::Error where the tables cannot be told, and where something else depends on their length.
  VocabularyAxis(const model::Model &model, const VocabularySize &wanted);

  int64_t size() const { return length; }
  /// Initializers, with the axis that is the vocabulary's.
  const std::map<std::string, size_t> &tensors() const { return found; }
  /// How far from the last axis of a value the vocabulary's is; nothing: it has none.
  std::optional<size_t> axisOf(const std::string &value) const;
  /// The vocabulary's length, written into a constant that a node reads.
  struct Length {
    size_t node = 0, operand = 0, element = 0;
  };
  const std::vector<Length> &lengths() const { return written; }

private:
  struct Table {
    std::string name;
    int64_t rows = 0;
    const model::Node *reader = nullptr;
  };
  std::vector<Table> tables() const;
  void chooseByName(const std::vector<Table> &all);
  void chooseByHead(const std::vector<Table> &all);
  void chooseByInput(const std::vector<Table> &all);
  void choose(const Table &table);
  [[noreturn]] void cannotTell(const std::vector<Table> &all, const std::string &why) const;

  std::vector<const model::Node *> lastProducts() const;
  /// The weight of a product with so many outputs, and the axis that they are.
  std::optional<std::pair<std::string, size_t>> headOf(const model::Node &product, int64_t outputs) const;
  const model::Node *maker(const std::string &value) const;
  bool isFromInput(const std::string &value) const;

  void walk(size_t node);
  void walkProduct(const model::Node &node);
  void walkElementwise(const model::Node &node);
  void walkReshape(size_t node);
  void widen(const model::Node &node, const std::string &operand, size_t fromEnd);
  bool noteLength(size_t node, size_t operand);
  void set(const std::string &value, std::optional<size_t> fromEnd);
  [[noreturn]] void refuse(const model::Node &node, const std::string &why) const;

  const model::Model &model;
  const VocabularySize &wanted;
  int64_t length = 0;
  std::map<std::string, size_t> makers; ///< value -> node
  std::map<std::string, size_t> found, axes;
  std::vector<Length> written;
};

/// Gives the vocabulary another length, in place: tables, heads and their biases, and the lengths that shapes
/// name. Returns one sentence for each kind of change. Throws kedge::Error.
std::vector<std::string> resizeVocabulary(model::Model &, const VocabularySize &);

} // namespace kedge::lint
