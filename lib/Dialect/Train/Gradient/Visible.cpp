#include "kedge/Dialect/Train/Gradient/Visible.h"
#include "mlir/IR/Builders.h"
#include <algorithm>

using namespace mlir;
using namespace kedge;

namespace {
constexpr StringLiteral leftName = "left", rightName = "right";

/// The smaller of two bounds.
std::optional<int64_t> tighter(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}
} // namespace

std::optional<train::Visible> train::Visible::from(Attribute attribute) {
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (!dictionary || dictionary.empty())
    return std::nullopt;
  Visible visible;
  for (NamedAttribute entry : dictionary) {
    auto bound = dyn_cast<IntegerAttr>(entry.getValue());
    if (!bound || !bound.getType().isSignlessInteger(64) ||
        (entry.getName() != leftName && entry.getName() != rightName))
      return std::nullopt;
    (entry.getName() == leftName ? visible.left : visible.right) = bound.getInt();
  }
  if (visible.left && visible.right && *visible.left < -*visible.right)
    return std::nullopt;
  return visible;
}

DictionaryAttr train::Visible::attribute(MLIRContext *context) const {
  if (isAll())
    return {};
  Builder b(context);
  SmallVector<NamedAttribute> bounds;
  if (left)
    bounds.push_back(b.getNamedAttr(leftName, b.getI64IntegerAttr(*left)));
  if (right)
    bounds.push_back(b.getNamedAttr(rightName, b.getI64IntegerAttr(*right)));
  return b.getDictionaryAttr(bounds);
}

bool train::Visible::leavesNone(int64_t queries, int64_t keys) const {
  // The first and the last query see least.
  for (int64_t query : {int64_t(0), queries - 1}) {
    const int64_t first = std::max<int64_t>(0, left ? query - *left : 0),
                  last = std::min(keys - 1, right ? query + *right : keys - 1);
    if (first > last)
      return true;
  }
  return false;
}

train::Visible train::Visible::operator&(const Visible &other) const {
  return {tighter(left, other.left), tighter(right, other.right)};
}

ParseResult train::parseSees(OpAsmParser &parser, DictionaryAttr &visible) {
  if (failed(parser.parseOptionalKeyword("sees")))
    return success();
  Visible read;
  const SMLoc place = parser.getCurrentLocation();
  auto bound = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("causal"))) {
      read.right = 0;
      return success();
    }
    const bool isLeft = succeeded(parser.parseOptionalKeyword(leftName));
    int64_t number = 0;
    if ((!isLeft && parser.parseKeyword(rightName)) || parser.parseEqual() || parser.parseInteger(number))
      return failure();
    (isLeft ? read.left : read.right) = number;
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, bound))
    return failure();
  visible = read.attribute(parser.getContext());
  if (!visible || !Visible::from(visible))
    return parser.emitError(place, "lets no query see a key, or bounds nothing: expected causal, left = N or "
                                   "right = N with left + right >= 0");
  return success();
}

void train::printSees(OpAsmPrinter &printer, Operation *, DictionaryAttr visible) {
  std::optional<Visible> bounds = Visible::from(visible);
  if (!bounds)
    return;
  printer << "sees(";
  const bool isCausal = bounds->right == 0;
  if (isCausal)
    printer << "causal";
  if (bounds->left)
    printer << (isCausal ? ", " : "") << "left = " << *bounds->left;
  if (bounds->right && !isCausal)
    printer << (bounds->left ? ", " : "") << "right = " << *bounds->right;
  printer << ")";
}
