// Names and places of a text that is parsed: MLIR's parser forgets the names of values and all comments.
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "lib/Support/Error.h"
#include "lib/Text/ReadableText.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace kedge::text {
namespace {

/// What is at `range`: "%name", "%name:2". Empty where it is a number, or what MLIR calls arguments without a
/// name.
std::string nameAt(SMRange range) {
  StringRef name(range.Start.getPointer(),
                 static_cast<size_t>(range.End.getPointer() - range.Start.getPointer()));
  name.consume_front("%");
  name = name.take_until([](char c) { return c == ':'; });
  StringRef number = name;
  number.consume_front("arg");
  return llvm::all_of(number, llvm::isDigit) ? "" : name.str();
}

/// "// backward h.0.attn" as a place; null for any other comment.
PlaceAttr placeIn(StringRef comment, MLIRContext *context) {
  auto [phase, where] = comment.split(' ');
  std::optional<TrainingPhase> known = symbolizeTrainingPhase(phase);
  return known ? PlaceAttr::get(context, *known, where, "") : PlaceAttr();
}

/// The text between the last "// " of the line and its end.
StringRef commentIn(StringRef line) {
  const size_t at = line.rfind("// ");
  return at == StringRef::npos ? "" : line.drop_front(at + 3).rtrim();
}

/// Constants and ops of kernels have names that MLIR gives them.
bool isOurs(Operation *op) {
  const StringRef dialect = op->getName().getDialectNamespace();
  return isOfOnnxDomain(op) || dialect == "onnx" || dialect == "train" || dialect == "dist" ||
         dialect == "sched" || dialect == "exec";
}

class Reader {
public:
  Reader(StringRef source, MLIRContext *context) : source(source), context(context) {}

  /// Names of all values; gives ops their places.
  ValueNames read(ModuleOp module, const AsmParserState &parsed) {
    ValueNames names;
    for (const AsmParserState::OperationDefinition &definition : parsed.getOpDefs()) {
      if (!isOurs(definition.op) || placeOf(definition.op)) // a place names its op
        continue;
      setPlace(definition.op, placeOfText(beginOf(definition).getPointer()));
      if (!definition.resultGroups.empty())
        if (std::string name = nameAt(definition.resultGroups.front().definition.loc); !name.empty())
          names[definition.op->getResult(0)] = std::move(name);
    }
    return namesOf(module, names);
  }

private:
  /// Where the op's first line is: the names of its results may take several.
  static SMLoc beginOf(const AsmParserState::OperationDefinition &definition) {
    return definition.resultGroups.empty() ? definition.loc.Start
                                           : definition.resultGroups.front().definition.loc.Start;
  }

  PlaceAttr placeOfText(const char *at) {
    const size_t offset = static_cast<size_t>(at - source.data());
    const size_t begin = source.rfind('\n', offset) + 1; // npos + 1: the first line
    if (PlaceAttr place = placeIn(commentIn(source.substr(begin).split('\n').first), context))
      return place;
    const StringRef before = source.take_front(begin).drop_back(begin > 0).rsplit('\n').second.ltrim();
    return before.starts_with("// ") ? placeIn(commentIn(before), context) : PlaceAttr();
  }

  StringRef source;
  MLIRContext *context;
};

} // namespace

std::string readableAgain(std::unique_ptr<llvm::MemoryBuffer> source, MLIRContext &context, StringRef only) {
  const std::string path = source->getBufferIdentifier().str();
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(std::move(source), SMLoc());
  const StringRef text = manager.getMemoryBuffer(manager.getMainFileID())->getBuffer();
  AsmParserState parsed;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  if (failed(parseAsmSourceFile(manager, module->getBody(), ParserConfig(&context), &parsed)))
    fail("{}: no IR that can be read (above)", path);
  // The parser fills a module of its own; a text that is a module holds another one.
  auto inner = llvm::hasSingleElement(*module->getBody()) ? dyn_cast<ModuleOp>(module->getBody()->front())
                                                          : ModuleOp();
  ModuleOp read = inner ? inner : *module;
  return readableText(read, Reader(text, &context).read(read, parsed), only);
}

std::string readableModules(StringRef text, const DialectRegistry &registry) {
  constexpr StringLiteral marker = "// -----\n";
  std::string result;
  while (!text.empty()) {
    const auto [one, rest] = text.split(marker);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    result += readableAgain(llvm::MemoryBuffer::getMemBufferCopy(one, "the result"), context);
    if (!rest.empty())
      result += ("\n" + marker + "\n").str();
    text = rest;
  }
  return result;
}

} // namespace kedge::text
