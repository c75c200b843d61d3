#include "passes/Precision/PolicyFile.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace kedge::precision {
namespace {

/// "MatMul" of onnx.MatMul, "rotary" of train.rotary.
StringRef operatorOf(Operation *op) { return op->getName().stripDialect(); }

bool isKnownOperator(MLIRContext *context, StringRef name) {
  return llvm::any_of(context->getRegisteredOperations(), [&](RegisteredOperationName known) {
    return (known.getDialectNamespace() == "onnx" || known.getDialectNamespace() == "train") &&
           known.stripDialect().equals_insensitive(name);
  });
}

std::optional<PrecisionClass> classNamed(StringRef word) {
  return llvm::StringSwitch<std::optional<PrecisionClass>>(word)
      .Case("low", PrecisionClass::Low)
      .Case("fp32", PrecisionClass::Full)
      .Case("follow", PrecisionClass::Follow)
      .Case("widest", PrecisionClass::Widest)
      .Default(std::nullopt);
}

} // namespace

bool PolicyFile::Line::fits(Operation *candidate) const {
  if (!op.empty())
    return operatorOf(candidate).equals_insensitive(op);
  PlaceAttr place = placeOf(candidate);
  return place && (node->isIn(place.getModule().str()) || node->isIn(place.getNode().str()));
}

FailureOr<PolicyFile> PolicyFile::read(StringRef path, Operation *where) {
  PolicyFile policy;
  policy.path = path.str();
  if (path.empty())
    return policy;
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return where->emitError() << path << ": cannot be read: " << buffer.getError().message()
                              << " (--precision-policy FILE)";
  for (llvm::line_iterator at(**buffer, /*SkipBlanks=*/true, '#'); !at.is_at_eof(); ++at) {
    StringRef text = at->split('#').first.trim();
    if (text.empty())
      continue;
    auto fail = [&](const Twine &what) {
      return where->emitError() << path << ":" << at.line_number() << ": '" << text << "': " << what;
    };
    auto [word, target] = text.split(' ');
    target = target.trim();
    Line line;
    line.number = at.line_number();
    line.text = text.str();
    std::optional<PrecisionClass> says = classNamed(word.trim());
    if (!says || (!target.starts_with("op:") && !target.starts_with("node:")))
      return fail("expected low, fp32, follow or widest, then op:NAME or node:REGEX"), failure();
    line.says = *says;
    if (target.consume_front("op:")) {
      if (!isKnownOperator(where->getContext(), target))
        return fail("no operator of this name is known; names are ONNX's, like op:MatMul"), failure();
      line.op = target.str();
    } else {
      target.consume_front("node:");
      const std::string place = (path + ":" + Twine(at.line_number()) + ": '" + text + "'").str();
      line.node = rt::NamePattern::of(place, target.str());
    }
    policy.lines.push_back(std::move(line));
  }
  return policy;
}

std::optional<PrecisionClass> PolicyFile::classOf(Operation *op) {
  std::optional<PrecisionClass> found;
  for (Line &line : lines)
    if (line.fits(op)) {
      line.used = true;
      found = line.says;
    }
  return found;
}

LogicalResult PolicyFile::checkAllUsed(Operation *where) const {
  for (const Line &line : lines)
    if (!line.used && line.node)
      return where->emitError()
             << path << ":" << line.number << ": '" << line.text
             << "' fits no node of the model; nodes are named by their module, as `kedge compile "
                "--emit onnx` shows them";
  return success();
}

} // namespace kedge::precision
