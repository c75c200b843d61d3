#include "passes/Lower/Codegen/KernelUnits.h"
#include "lib/Support/BuildIdentity.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kedge::lower::codegen {
namespace {

/// Names are shorter, or else two steps long: a name's length says next to nothing, either.
constexpr size_t kNameStep = 128;

/// Of a symbol until its code is made. No other name in an object ends like it, so that an object's table of
/// names has it whole.
std::string numberedName(size_t number, size_t length) {
  std::string name = "kedge_unit_symbol_" + std::to_string(number);
  name.resize(length - 1, '_');
  return name + "$";
}

size_t lengthFor(ArrayRef<UnitSymbol> symbols) {
  size_t longest = 0;
  for (const UnitSymbol &symbol : symbols)
    longest = std::max(longest, symbol.name.size());
  return (longest / kNameStep + 1) * kNameStep;
}

/// Whether other objects can see a symbol that is defined here.
bool isShown(Operation *symbol) {
  const auto linkage = symbol->getAttrOfType<LLVM::LinkageAttr>("linkage");
  return !linkage ||
         (linkage.getLinkage() != LLVM::Linkage::Private && linkage.getLinkage() != LLVM::Linkage::Internal);
}

bool isDeclaration(SymbolOpInterface symbol) {
  if (auto global = llvm::dyn_cast<LLVM::GlobalOp>(symbol.getOperation()))
    return !global.getValueAttr() && global.getInitializerRegion().empty() && isShown(global);
  auto function = llvm::dyn_cast<FunctionOpInterface>(symbol.getOperation());
  return function && function.isExternal();
}

/// Symbols of a module, joined where one uses the other.
class SymbolGroups {
public:
  explicit SymbolGroups(Operation *module) {
    for (Operation &op : module->getRegion(0).front())
      if (auto symbol = llvm::dyn_cast<SymbolOpInterface>(op))
        (isDeclaration(symbol) ? declared : defined).push_back(symbol);
    for (auto [at, symbol] : llvm::enumerate(defined)) {
      numbers[symbol.getName()] = at;
      groups.insert(at);
    }
    for (auto [at, symbol] : llvm::enumerate(defined))
      joinUsed(at, symbol);
    joinUnused();
  }

  /// A number that the group alone has.
  size_t of(size_t at) const { return *groups.findLeader(at); }

  SmallVector<SymbolOpInterface> declared, defined;

private:
  void joinUsed(size_t at, Operation *user) {
    user->walk([&](Operation *op) {
      if (op == user || !isa<SymbolUserOpInterface, CallOpInterface>(op))
        return;
      op->getAttrDictionary().walk([&](SymbolRefAttr used) {
        if (auto found = numbers.find(used.getRootReference().getValue()); found != numbers.end()) {
          groups.unionSets(at, found->second);
          areUsed.insert(found->second);
        }
      });
    });
  }
  /// Data that no kernel uses tells something of the kernel before.
  void joinUnused() {
    for (size_t at = 1; at < defined.size(); ++at)
      if (!areUsed.contains(at) && !isa<FunctionOpInterface>(defined[at].getOperation()))
        groups.unionSets(at - 1, at);
  }

  llvm::StringMap<size_t> numbers;
  llvm::EquivalenceClasses<size_t> groups;
  llvm::DenseSet<size_t> areUsed;
};

/// Calls what symbols stand for by their new names, all at once: a walk for each would be quadratic.
void renameUses(Operation *module, const llvm::DenseMap<Attribute, StringAttr> &renamed) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](SymbolRefAttr used) -> std::optional<Attribute> {
    const StringAttr name = renamed.lookup(used.getRootReference());
    return name ? SymbolRefAttr::get(name, used.getNestedReferences()) : used;
  });
  module->walk([&](Operation *op) {
    if (isa<SymbolUserOpInterface, CallOpInterface>(op))
      replacer.replaceElementsIn(op);
  });
}

/// Numbers what a unit defines, in order.
void number(KernelUnit &unit) {
  SmallVector<SymbolOpInterface> defined;
  for (Operation &op : unit.module->getRegion(0).front())
    if (auto symbol = llvm::dyn_cast<SymbolOpInterface>(op); symbol && !isDeclaration(symbol)) {
      defined.push_back(symbol);
      unit.symbols.push_back({symbol.getName().str(), isShown(symbol)});
    }
  const size_t length = lengthFor(unit.symbols);
  llvm::DenseMap<Attribute, StringAttr> renamed;
  for (auto [at, symbol] : llvm::enumerate(defined)) {
    const auto name = StringAttr::get(symbol.getContext(), numberedName(at, length));
    renamed[symbol.getNameAttr()] = name;
    symbol.setName(name);
  }
  if (defined.size() > 1)
    renameUses(unit.module.get(), renamed);
}

} // namespace

std::vector<KernelUnit> splitUnits(Operation *kernels) {
  std::vector<KernelUnit> units;
  const SymbolGroups groups(kernels);
  llvm::DenseMap<size_t, size_t> unitOf;
  for (auto [at, symbol] : llvm::enumerate(groups.defined)) {
    auto [entry, isNew] = unitOf.try_emplace(groups.of(at), units.size());
    if (isNew) {
      units.push_back({kernels->cloneWithoutRegions(), {}});
      Block &body = units.back().module->getRegion(0).emplaceBlock();
      for (SymbolOpInterface declaration : groups.declared)
        body.push_back(declaration->clone());
    }
    Block &body = units[entry->second].module->getRegion(0).front();
    symbol->moveBefore(&body, body.end());
  }
  for (KernelUnit &unit : units) {
    unit.module->setLoc(UnknownLoc::get(kernels->getContext()));
    number(unit);
  }
  return units;
}

void nameSymbols(ObjectFile &object, ArrayRef<UnitSymbol> symbols) {
  const size_t length = lengthFor(symbols);
  for (auto [number, symbol] : llvm::enumerate(symbols)) {
    if (!symbol.isShown)
      continue;
    const size_t at = StringRef(object.data(), object.size()).find(numberedName(number, length));
    if (at == StringRef::npos)
      fail("the object of kernel '{}' lacks its name", symbol.name);
    std::fill_n(std::copy(symbol.name.begin(), symbol.name.end(), object.begin() + at),
                length - symbol.name.size(), '\0');
  }
}

std::string withNames(StringRef text, ArrayRef<UnitSymbol> symbols) {
  std::string named;
  const size_t length = lengthFor(symbols);
  const StringRef begin = "kedge_unit_symbol_";
  for (size_t at = 0; (at = text.find(begin)) != StringRef::npos;) {
    size_t number = symbols.size();
    text.substr(at + begin.size()).take_while(llvm::isDigit).getAsInteger(10, number);
    if (number >= symbols.size())
      fail("the code of kernel '{}' has an unknown name", symbols.front().name);
    named += text.take_front(at);
    named += symbols[number].name;
    text = text.drop_front(at + length);
  }
  return named + text.str();
}

/// Whether code that reads a number is as good as code that knows it. Steps, windows and widths of vectors
/// are small numbers, by which LLVM unrolls; a division by a known number is none.
static bool mayBeTold(arith::ConstantOp constant) {
  constexpr int64_t kLargestOfStructure = 16;
  auto value = llvm::dyn_cast<IntegerAttr>(constant.getValue());
  if (!value || !constant.getType().isInteger(64) || value.getInt() <= kLargestOfStructure)
    return false;
  return llvm::none_of(constant->getUses(), [](OpOperand &use) {
    return llvm::isa<LLVM::AllocaOp>(use.getOwner()) ||
           (use.getOperandNumber() == 1 &&
            llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
                      arith::CeilDivSIOp, arith::CeilDivUIOp>(use.getOwner()));
  });
}

void CodeKeys::write(uint64_t number) {
  bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

void CodeKeys::write(StringRef text) {
  write(text.size());
  bytes.append(text.begin(), text.end());
}

template <typename Printed> void CodeKeys::writePrinted(Printed value) {
  std::string &text = printed[value.getAsOpaquePointer()];
  if (text.empty() && value) {
    llvm::raw_string_ostream stream(text);
    value.print(stream);
  }
  isWhole &= !StringRef(text).contains("dense_resource<");
  write(text);
}

/// What the plan notes on a kernel does not go into its code.
void CodeKeys::writeAttributes(Operation *op) {
  if (op->getPropertiesStorageSize() > 0)
    writePrinted(op->getPropertiesAsAttribute());
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!attribute.getName().strref().starts_with("sched.")) {
      write(attribute.getName().strref());
      writePrinted(attribute.getValue());
    }
}

void CodeKeys::write(Region &region, Numbers &numbers) {
  write(region.getBlocks().size());
  for (Block &block : region)
    numbers.blocks.try_emplace(&block, numbers.blocks.size());
  for (Block &block : region) {
    write(block.getNumArguments());
    for (BlockArgument argument : block.getArguments()) {
      writePrinted(argument.getType());
      numbers.values.try_emplace(argument, numbers.values.size());
    }
    for (Operation &op : block)
      write(&op, numbers);
    write(StringRef()); // ends the block: no operation has an empty name
  }
}

void CodeKeys::write(Operation *op, Numbers &numbers) {
  write(op->getName().getStringRef());
  write(op->getNumOperands());
  for (Value operand : op->getOperands()) // one that follows, as blocks may have it, counts from here on
    write(numbers.values.try_emplace(operand, numbers.values.size()).first->second);
  write(op->getNumResults());
  for (OpResult result : op->getResults()) {
    writePrinted(result.getType());
    write(numbers.values.try_emplace(result, numbers.values.size()).first->second);
  }
  write(op->getNumSuccessors());
  for (Block *successor : op->getSuccessors())
    write(numbers.blocks.lookup(successor));
  if (auto number = llvm::dyn_cast<arith::ConstantOp>(op); leftOut && number && mayBeTold(number))
    leftOut->push_back(number);
  else
    writeAttributes(op);
  write(op->getNumRegions());
  for (Region &region : op->getRegions())
    write(region, numbers);
}

std::optional<CacheKey> CodeKeys::of(Operation *kernels) {
  Numbers numbers;
  bytes.clear();
  isWhole = !buildIdentity().empty();
  write(kernels, numbers);
  if (!isWhole)
    return std::nullopt;
  return CacheKey(told).add(buildIdentity()).add(bytes);
}

std::string CodeKeys::shapeOf(LLVM::LLVMFuncOp function, SmallVectorImpl<arith::ConstantOp> &numbers) {
  const StringAttr name = function.getSymNameAttr();
  Numbers seen;
  bytes.clear();
  isWhole = true;
  leftOut = &numbers;
  function.setSymName("kernel");
  write(function.getOperation(), seen);
  function.setSymNameAttr(name);
  leftOut = nullptr;
  return isWhole ? bytes : name.str(); // alike with itself alone
}

} // namespace kedge::lower::codegen
