// Rewrites the original file's messages: what nothing changes stays a range of the file.
#pragma once
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Export/Template/ExportTemplateProto.h"
#include "lib/Model/ModelParse.h"
#include "lib/Model/ModelWire.h"
#include <set>

namespace kedge::exporter {

using Pieces = std::vector<Piece>;
/// nullopt: the message is as before.
using Rewritten = std::optional<Pieces>;

/// The parts of one message under rewriting.
class MessageParts {
public:
  /// Keeps the reader's current field byte for byte.
  void keep(const model::WireReader &reader);
  /// Keeps it, or writes what became of it.
  void keepOr(const model::WireReader &reader, Rewritten rewritten);
  void drop() { changed = true; }
  void add(std::string literal);
  void addMessage(int field, Pieces parts);
  bool isChanged() const { return changed; }
  Rewritten take() { return changed ? Rewritten(std::move(pieces)) : std::nullopt; }

private:
  Pieces pieces;
  bool changed = false;
};

Piece literalPiece(std::string text);
/// Bytes of the pieces; the external file's name counts as 255.
uint64_t sizeOf(const Pieces &);

class ExportTemplateBuilder {
public:
  ExportTemplateBuilder(const model::Model &, const Edits &, const ExportTemplateOptions &,
                        bool moveWeightsOut);
  ExportTemplate build();

private:
  Rewritten rewriteModel(model::Span);
  Rewritten rewriteGraph(model::Span);
  Rewritten rewriteNode(model::Span);
  Rewritten rewriteAttribute(model::Span);
  Rewritten rewriteFunction(model::Span);
  Rewritten rewriteTraining(model::Span);
  Rewritten rewriteValue(model::Span);
  Rewritten rewriteTensor(model::Span);
  /// Dispatches a graph's field that is an initializer, value or node; true when it was handled.
  bool rewriteRemovable(const model::WireReader &, model::Span, MessageParts &);

  void addNewNodes(const GraphEdit &, uint64_t before, MessageParts &);
  void addNew(const GraphEdit &, MessageParts &);
  void editMetadata(model::WireReader &, int field, const MetadataEdit &, MessageParts &);
  /// Where the elements of a tensor come from; nullopt when they stay where they are.
  std::optional<Piece> elementsOf(const model::Tensor &, const TensorEdit *, bool external);
  /// raw_data, or an entry of the external file.
  void addElements(Piece elements, uint64_t length, bool external, MessageParts &);
  uint64_t placeExternally(Piece elements, uint64_t length);
  void checkAllUsed() const;

  template <typename Edit> const Edit *find(const std::map<uint64_t, Edit> &edits, uint64_t place) {
    auto entry = edits.find(place);
    if (entry == edits.end())
      return nullptr;
    used.insert(place);
    return &entry->second;
  }

  const model::Model &model;
  const Edits &edits;
  const ExportTemplateOptions &options;
  bool moveWeightsOut;
  model::LoadOptions loadOptions;
  model::ParseContext context;
  std::set<uint64_t> used;
  ExportTemplate skeleton;
  uint64_t externalSize = 0;
  std::map<std::string, uint64_t> externalPlaces; // what was placed already
};

} // namespace kedge::exporter
