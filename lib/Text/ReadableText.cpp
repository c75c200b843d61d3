#include "lib/Text/ReadableText.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Support/Error.h"
#include "lib/Text/Lines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace kedge::text {
namespace {

constexpr size_t kStep = 2; ///< a region's ops are that much further to the right

constexpr int64_t kElements = 16; ///< constants of more are `dense_resource<__elided__>`, as MLIR has it

/// "backward h.0.attn"; empty without a place.
std::string commentOf(Operation *op) {
  PlaceAttr place = placeOf(op);
  if (!place)
    return "";
  const StringRef where = place.getModule().empty() ? place.getNode() : place.getModule();
  return (stringifyTrainingPhase(place.getPhase()) + " " + where).str();
}

/// A copy of the module without places and locations; names are the locations that MLIR's printer reads them
/// from.
struct Bare {
  OwningOpRef<ModuleOp> module;
  DenseMap<Operation *, std::string> comments;
  DenseMap<Operation *, PlaceAttr> places;

  Bare(ModuleOp whole, const ValueNames &names) {
    IRMapping mapping;
    module = cast<ModuleOp>(whole->clone(mapping));
    whole->walk([&](Operation *op) { strip(op, mapping.lookup(op)); });
    for (const auto &[value, name] : names)
      setName(mapping.lookup(value), name);
  }

private:
  void strip(Operation *op, Operation *copy) {
    copy->setLoc(UnknownLoc::get(op->getContext()));
    for (Region &region : copy->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(copy->getLoc());
    if (std::string comment = commentOf(op); !comment.empty())
      comments[copy] = comment;
    if (PlaceAttr place = placeOf(op))
      places[copy] = place;
    copy->removeDiscardableAttr(placeName);
    copy->removeDiscardableAttr("kedge.result_places");
    copy->removeDiscardableAttr(valuesName);
    copy->removeDiscardableAttr(SavedNote::getNameStr());
    copy->removeDiscardableAttr(
        train::TrainDialect::ModulesAttrHelper::getNameStr()); // modules are in the comments
  }

  static void setName(Value value, const std::string &name) {
    Location location = NameLoc::get(StringAttr::get(value.getContext(), name));
    if (auto argument = dyn_cast<BlockArgument>(value))
      argument.setLoc(location);
    else
      value.getDefiningOp()->setLoc(location);
  }
};

/// What of a module is shown.
class Part {
public:
  Part(const Bare &bare, StringRef only) : bare(bare), only(only) {
    if (only.empty())
      return;
    bare.module.get()->walk([&](Operation *op) {
      if (isFunction(op) && nameOf(op) == only)
        function = op;
      isModule |= isBelow(op);
    });
    if (!function && !isModule)
      fail("--only {}: no function and no module of the model has this name", only.str());
    if (function)
      collectStates();
  }

  /// Whether it is the ops of a module of the model.
  bool isOfModule() const { return !only.empty() && !function; }

  static bool isFunction(Operation *op) { return isa<func::FuncOp, exec::FunctionOp>(op); }

  /// Whether an op of a function, or of the module itself, is shown.
  bool shows(Operation *op) const {
    if (only.empty())
      return true;
    if (isFunction(op))
      return function ? op == function
                      : llvm::any_of(bodyOf(op), [&](Operation &inner) { return isBelow(&inner); });
    if (auto state = dyn_cast<train::StateOp>(op))
      return states.contains(state.getSymName());
    return function ? op->getParentOp() == function : isBelow(op);
  }

private:
  static StringRef nameOf(Operation *op) { return cast<SymbolOpInterface>(op).getName(); }
  static llvm::iterator_range<Block::iterator> bodyOf(Operation *op) {
    Region &body = op->getRegion(0);
    return body.empty() ? llvm::make_range(Block::iterator(), Block::iterator())
                        : llvm::make_range(body.front().begin(), body.front().end());
  }

  bool isBelow(Operation *op) const {
    auto place = bare.places.find(op);
    if (place == bare.places.end())
      return false;
    StringRef path = place->second.getModule();
    return path.consume_front(only) && (path.empty() || path.front() == '.');
  }

  void collectStates() {
    function->getAttrDictionary().walk([&](FlatSymbolRefAttr state) { states.insert(state.getValue()); });
    for (Operation &op : bodyOf(function))
      op.getAttrDictionary().walk([&](FlatSymbolRefAttr state) { states.insert(state.getValue()); });
  }

  const Bare &bare;
  StringRef only;
  Operation *function = nullptr;
  bool isModule = false;
  llvm::SmallSetVector<StringRef, 16> states;
};

class Writer {
public:
  Writer(const Bare &bare, StringRef only)
      : bare(bare), part(bare, only), state(*bare.module, OpPrintingFlags()
                                                              .printNameLocAsPrefix()
                                                              .enableDebugInfo(false)
                                                              .assumeVerified()
                                                              .elideLargeElementsAttrs(kElements)) {}

  std::string write() {
    if (part.isOfModule())
      return writeOps();
    addModule(*bare.module, 0);
    return std::move(result);
  }

private:
  /// The shown ops of each function, without what is around them.
  std::string writeOps() {
    for (Operation &op : *bare.module.get().getBody()) {
      if (!Part::isFunction(&op) || !part.shows(&op))
        continue;
      add(("// @" + cast<SymbolOpInterface>(op).getName()).str(), 0);
      nameResults(op.getRegion(0));
      for (Operation &inner : op.getRegion(0).front())
        if (part.shows(&inner))
          addOp(&inner, 0);
    }
    return std::move(result);
  }

  /// Functions first: what a reader looks for.
  void addModule(ModuleOp module, size_t indent) {
    std::string head = "module";
    if (std::optional<StringRef> name = module.getSymName())
      head += (" @" + *name).str();
    add(head + attributes(module, {SymbolTable::getSymbolAttrName()}, " attributes ") + " {", indent);
    for (bool functions : {true, false})
      for (Operation &op : *module.getBody())
        if (Part::isFunction(&op) == functions && part.shows(&op))
          addOp(&op, indent + kStep);
    add("}", indent);
  }

  void addOp(Operation *op, size_t indent) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (auto module = dyn_cast<ModuleOp>(op))
      return addModule(module, indent);
    if (function && function.getBody().hasOneBlock())
      return addFunction(function, indent);
    if (auto schedule = dyn_cast<exec::FunctionOp>(op))
      return addSchedule(schedule, indent);
    addPlain(op, indent);
  }

  /// MLIR gives each result that has a name of its own the name of the op, and a number where that is taken:
  /// by a number over all names, so that a text that is read again would get others. They are called NODE,
  /// NODE.r1, NODE.r2 instead.
  void nameResults(Region &body) {
    renamed.clear();
    for (Operation &op : body.front()) {
      auto name = dyn_cast<NameLoc>(op.getLoc());
      if (!name)
        continue;
      for (OpResult result : op.getResults()) {
        const std::string number =
            result.getResultNumber() ? ".r" + std::to_string(result.getResultNumber()) : "";
        const std::string printed = asMlirPrints(result);
        if (!StringRef(printed).contains('#'))
          renamed[printed] = "%" + name.getName().str() + number;
      }
    }
  }

  /// The text with the names of nameResults; strings are left as they are.
  std::string withNames(StringRef text) const {
    std::string result;
    bool inString = false;
    for (size_t at = 0; at < text.size();) {
      const size_t length =
          inString || text[at] != '%'
              ? 1
              : 1 + text.drop_front(at + 1)
                        .take_while([](char c) { return llvm::isAlnum(c) || StringRef("_.$-").contains(c); })
                        .size();
      const StringRef token = text.substr(at, text[at] == '\\' ? 2 : length);
      inString ^= token == "\"";
      const auto found = token.size() > 1 ? renamed.find(token) : renamed.end();
      result += found == renamed.end() ? token.str() : found->second;
      at += token.size();
    }
    return result;
  }

  /// An op as MLIR prints it, and its place: after its first line, or in a line before it.
  void addPlain(Operation *op, size_t indent) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    op->print(stream, state);
    std::string lines = inLines(withNames(text), indent);
    if (auto comment = bare.comments.find(op); comment != bare.comments.end()) {
      const std::string words = "// " + comment->second;
      const size_t first = lines.find('\n');
      if (first + 2 + words.size() <= kWidth)
        lines.insert(first, "  " + words);
      else
        lines.insert(0, std::string(indent, ' ') + words.substr(0, kWidth - indent) + "\n");
    }
    result += lines;
  }

  void addFunction(func::FuncOp function, size_t indent) {
    nameResults(function.getBody());
    const StringRef visibility = function.isPrivate() ? "private " : "";
    add(("func.func " + visibility + "@" + function.getName() + "(").str(), indent);
    const unsigned arguments = function.getNumArguments(), results = function.getNumResults();
    for (unsigned index = 0; index < arguments; ++index)
      add(printed(function.getArgument(index)) + ": " + printed(function.getArgument(index).getType()) +
              dictionary(function.getArgAttrDict(index)) + (index + 1 < arguments ? "," : ""),
          indent + 2 * kStep);
    if (results > 0)
      add(") -> (", indent);
    for (unsigned index = 0; index < results; ++index)
      add(printed(function.getResultTypes()[index]) + dictionary(function.getResultAttrDict(index)) +
              (index + 1 < results ? "," : ""),
          indent + 2 * kStep);
    add(")" +
            attributes(function,
                       {function.getSymNameAttrName(), function.getFunctionTypeAttrName(),
                        function.getArgAttrsAttrName(), function.getResAttrsAttrName(),
                        function.getSymVisibilityAttrName()},
                       " attributes ") +
            " {",
        indent);
    for (Operation &op : function.getBody().front())
      if (isa<func::ReturnOp>(op))
        addReturn(function, &op, indent + kStep);
      else if (part.shows(&op))
        addOp(&op, indent + kStep);
    add("}", indent);
  }

  /// A value a line, with what it is bound to.
  void addReturn(func::FuncOp function, Operation *op, size_t indent) {
    const unsigned count = op->getNumOperands();
    std::string types;
    add("return", indent);
    for (unsigned index = 0; index < count; ++index) {
      train::BindingAttr binding = train::bindingOfResult(function, index);
      add(printed(op->getOperand(index)) + (index + 1 < count ? "," : ""), indent + 2 * kStep,
          binding ? (stringifyBindingKind(binding.getKind()) + " " + binding.getName()).str() : "");
      types += (index ? ", " : ": ") + printed(op->getOperand(index).getType());
    }
    if (count > 0)
      add(types, indent + 2 * kStep);
  }

  void addSchedule(exec::FunctionOp schedule, size_t indent) {
    nameResults(schedule.getBody());
    std::string head = ("exec.function @" + schedule.getSymName()).str();
    if (schedule.getKindAttr())
      head += " kind " + printed(schedule.getKindAttr());
    add(head + " {", indent);
    for (Operation &op : schedule.getBody().front())
      if (part.shows(&op))
        addOp(&op, indent + kStep);
    add("}" + attributes(schedule, {schedule.getSymNameAttrName(), schedule.getKindAttrName()}, " "), indent);
  }

  void add(StringRef line, size_t indent, StringRef comment = "") {
    std::string lines = inLines(line, indent);
    if (!comment.empty() && lines.size() + 4 + comment.size() <= kWidth)
      lines.insert(lines.size() - 1, ("  // " + comment).str());
    result += lines;
  }

  std::string attributes(Operation *op, ArrayRef<StringRef> without, StringRef keyword) {
    NamedAttrList kept;
    for (NamedAttribute attribute : op->getAttrs())
      if (!llvm::is_contained(without, attribute.getName().getValue()))
        kept.append(attribute);
    return kept.empty() ? "" : keyword.str() + printed(kept.getDictionary(op->getContext()));
  }

  std::string dictionary(DictionaryAttr attributes) {
    return !attributes || attributes.empty() ? "" : " " + printed(attributes);
  }

  std::string printed(Attribute attribute) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    attribute.print(stream, state);
    return text;
  }
  std::string printed(Type type) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    type.print(stream, state);
    return text;
  }
  std::string printed(Value value) { return withNames(asMlirPrints(value)); }
  std::string asMlirPrints(Value value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.printAsOperand(stream, state);
    return text;
  }

  const Bare &bare;
  Part part;
  AsmState state;
  llvm::StringMap<std::string> renamed;
  std::string result;
};

} // namespace

std::string readableText(ModuleOp module, const ValueNames &names, StringRef only) {
  const Bare bare(module, names);
  return Writer(bare, only).write();
}

std::string readableText(ModuleOp module, StringRef only) {
  return readableText(module, namesOf(module), only);
}

} // namespace kedge::text
