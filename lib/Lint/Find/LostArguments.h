// What torch's exporter drops of its calls, as a table; scripts/make/exporter_arguments.py compares it with
// torch.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::lint {

struct LostArgument {
  /// Factor: harmless, too, where it gives just the size of the result along the dimension, and where the
  /// call aligns corners, which does not read it.
  enum class Kind : uint8_t { Value, Factor } kind = Kind::Value;
  const char *call;      ///< of ATen, with its overload where others do not lose it
  const char *op;        ///< the node that stands for it
  size_t place;          ///< among the call's arguments
  const char *name;      ///< by keyword
  const char *otherwise; ///< where the call does not give it
  const char *harmless;  ///< values that are right, blanks between
  const char *file;      ///< what the file has instead
  const char *remedy;
  size_t dimension = 0;                              ///< Factor: of the result's spatial ones
  bool (*isHarmless)(const model::Node &) = nullptr; ///< whether a node shows that nothing is lost
};

const std::vector<LostArgument> &lostArguments();

/// For a file of torch without a record of calls, one sentence on what may be lost; "" where nothing can be.
std::string unknownArguments(const model::Model &);

} // namespace kedge::lint
