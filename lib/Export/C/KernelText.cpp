#include "lib/Export/C/KernelText.h"
#include "lib/Export/C/ElementForms.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <map>
#include <set>

using namespace mlir;

namespace kedge::exporter {
namespace {

/// Every digit of it.
std::string floatText(const llvm::APFloat &value, Type type) {
  const bool isSingle = type.isF32();
  if (value.isNaN())
    return isSingle ? "NAN" : "(double)NAN";
  if (value.isInfinity())
    return std::string(value.isNegative() ? "-" : "") + (isSingle ? "INFINITY" : "(double)INFINITY");
  return fmt::format("{:a}{}", isSingle ? value.convertToFloat() : value.convertToDouble(),
                     isSingle ? "f" : "");
}

std::string numberText(Attribute value, Type type) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return floatText(number.getValue(), type);
  const llvm::APInt integer = cast<IntegerAttr>(value).getValue();
  return fmt::format("({})UINT64_C({})", scalarType(type), integer.getZExtValue());
}

class FunctionWriter {
public:
  FunctionWriter(std::string &text, std::set<std::string> &vectors) : text(text), vectors(vectors) {}

  void write(LLVM::LLVMFuncOp function) {
    Block &body = function.getBody().front();
    static constexpr const char *parameters[] = {"args", "begin", "end"};
    text += fmt::format("static void {}(char *const *args, uint64_t begin, uint64_t end) {{\n",
                        function.getName().str());
    for (auto [argument, name] : llvm::zip(body.getArguments(), parameters))
      names[argument] = name;
    line("(void)begin, (void)end;");
    names[body.getArgument(0)] = "(char *)args";
    writeBlock(body);
    text += "}\n\n";
  }

private:
  std::string typeOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return scalarType(type);
    const Type element = vector.getElementType();
    const std::string name = fmt::format("kedge_{}x{}", nameOf(element), vector.getNumElements());
    vectors.insert(fmt::format("typedef struct {{ {} v[{}]; }} {};\n", scalarType(element),
                               vector.getNumElements(), name));
    return name;
  }

  void line(const std::string &words) { text += std::string(depth, ' ') + words + "\n"; }

  std::string fresh() { return fmt::format("v{}", next++); }
  std::string declare(Value value) {
    const std::string name = fresh();
    names[value] = name;
    return typeOf(value.getType()) + (isa<LLVM::LLVMPointerType>(value.getType()) ? "" : " ") + name;
  }
  /// By value: a name that is given next moves those that are there.
  std::string use(Value value) const { return names.at(value); }
  /// In a loop over lanes.
  std::string elementText(Value value) {
    DenseElementsAttr same;
    if (isa<VectorType>(value.getType()) && matchPattern(value, m_Constant(&same)) && same.isSplat())
      return fmt::format("({})", numberText(same.getSplatValue<Attribute>(), same.getElementType()));
    return isa<VectorType>(value.getType()) && !inLoop.contains(value) ? use(value) + ".v[i]" : use(value);
  }
  static int64_t countOf(Type type) { return cast<VectorType>(type).getNumElements(); }

  void writeBlock(Block &block) {
    for (Operation &op : block) {
      if (isInLanes(&op)) {
        waiting.insert(&op);
        continue;
      }
      if (op.getNumRegions() || op.hasTrait<OpTrait::IsTerminator>() ||
          llvm::any_of(op.getOperands(),
                       [&](Value value) { return waiting.contains(value.getDefiningOp()); }))
        writeLanes();
      write(&op);
    }
    writeLanes();
  }

  void write(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<arith::ConstantOp>([&](auto op) { constant(op); })
        .Case<LLVM::GEPOp>([&](auto op) { address(op); })
        .Case<LLVM::LoadOp>([&](auto op) { load(op); })
        .Case<LLVM::StoreOp>([&](auto op) { store(op.getValue(), op.getAddr()); })
        .Case<LLVM::MaskedLoadOp>([&](auto op) { maskedLoad(op); })
        .Case<LLVM::MaskedStoreOp>([&](auto op) { maskedStore(op); })
        .Case<LLVM::masked_gather>([&](auto op) { maskedGather(op); })
        .Case<LLVM::masked_scatter>([&](auto op) { maskedScatter(op); })
        .Case<vector::ReductionOp>([&](auto op) { reduction(op); })
        .Case<vector::BroadcastOp>([&](auto op) { broadcast(op); })
        .Case<vector::ShuffleOp>([&](auto op) { shuffle(op); })
        .Case<vector::ExtractOp>([&](auto op) { extract(op); })
        .Case<vector::InsertOp>([&](auto op) { insert(op); })
        .Case<scf::ForOp>([&](auto op) { loop(op); })
        .Case<scf::IfOp>([&](auto op) { branch(op); })
        .Case<scf::YieldOp>([&](auto op) { yield(op); })
        .Case<LLVM::CallOp>([&](auto op) { call(op); })
        .Case<LLVM::ReturnOp>([](auto) {})
        .Default([&](Operation *op) {
          const std::vector<std::string> forms = elementForms(op);
          if (forms.empty())
            fail("--emit c and web: kernels with {} are not available yet",
                 op->getName().getStringRef().str());
          for (auto [result, form] : llvm::zip_equal(op->getResults(), forms))
            if (!result.use_empty())
              each(result, filled(form, op));
        });
  }

  /// One that is the same for each lane, and has nothing to do with memory.
  static bool isInLanes(Operation *op) {
    const auto isVector = [](Type type) { return isa<VectorType>(type); };
    if (!llvm::all_of(op->getResultTypes(), isVector) || elementForms(op).empty())
      return false;
    return llvm::all_of(op->getOperandTypes(), [&](Type type) {
      return !isVector(type) || countOf(type) == countOf(op->getResult(0).getType());
    });
  }

  /// What waits, in one loop for what belongs together.
  void writeLanes() {
    llvm::EquivalenceClasses<Operation *> together;
    for (Operation *op : waiting) {
      together.insert(op);
      for (Value operand : op->getOperands())
        if (waiting.contains(operand.getDefiningOp()))
          together.unionSets(op, operand.getDefiningOp());
    }
    llvm::MapVector<Operation *, std::vector<Operation *>> loops;
    for (Operation *op : waiting)
      loops[together.getLeaderValue(op)].push_back(op);
    for (const auto &[leader, ops] : loops)
      laneLoop(ops);
    waiting.clear();
  }

  void laneLoop(const std::vector<Operation *> &ops) {
    const auto isSeen = [&](Value result) {
      return llvm::any_of(result.getUsers(), [&](Operation *user) { return !waiting.contains(user); });
    };
    for (Operation *op : ops)
      for (Value result : llvm::make_filter_range(op->getResults(), isSeen))
        line(declare(result) + ";");
    line(fmt::format("for (int i = 0; i < {}; ++i) {{", countOf(ops.front()->getResult(0).getType())));
    for (Operation *op : ops)
      for (auto [result, form] : llvm::zip_equal(op->getResults(), elementForms(op))) {
        const std::string words = filled(form, op);
        if (names.contains(result)) {
          line(fmt::format(" {}.v[i] = {};", use(result), words));
        } else if (!result.use_empty()) {
          names[result] = fresh(), inLoop.insert(result);
          line(
              fmt::format(" const {} {} = {};", scalarType(elementOf(result.getType())), use(result), words));
        }
      }
    line("}");
  }

  static Type elementOf(Type type) { return getElementTypeOrSelf(type); }

  std::string filled(StringRef form, Operation *op) {
    const Type first = op->getNumOperands() ? elementOf(op->getOperand(0).getType()) : Type();
    const Type last = op->getNumResults() ? elementOf(op->getResult(0).getType()) : Type();
    std::string words;
    for (size_t at = 0; at < form.size(); ++at)
      if (form[at] == '%' && at + 1 < form.size() && isdigit(form[at + 1]))
        words += elementText(op->getOperand(form[++at] - '0'));
      else if (form.substr(at).consume_front("{rs}"))
        words += signedType(last), at += 3;
      else if (form.substr(at).starts_with("{t}"))
        words += scalarType(first), at += 2;
      else if (form.substr(at).starts_with("{s}"))
        words += signedType(first), at += 2;
      else if (form.substr(at).starts_with("{r}"))
        words += scalarType(last), at += 2;
      else if (form.substr(at).starts_with("{f}"))
        words += first.isF32() ? "f" : "", at += 2;
      else
        words += form[at];
    return words;
  }

  /// `words` is of element i.
  void each(Value result, const std::string &words) {
    const std::string declared = declare(result);
    if (!isa<VectorType>(result.getType()))
      return line(fmt::format("{}{} = {};", isa<LLVM::LLVMPointerType>(result.getType()) ? "" : "const ",
                              declared, words));
    line(declared + ";");
    line(fmt::format("for (int i = 0; i < {}; ++i) {}.v[i] = {};", countOf(result.getType()), use(result),
                     words));
  }

  void constant(arith::ConstantOp op) {
    const Type type = op.getType(), element = elementOf(type);
    const auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!dense)
      return line(fmt::format("const {} = {};", declare(op), numberText(op.getValue(), type)));
    const bool isLiteral = dense.isSplat() && llvm::all_of(op->getUsers(), isInLanes);
    if (isLiteral)
      return;
    if (dense.isSplat())
      return each(op, numberText(dense.getSplatValue<Attribute>(), element));
    std::string list;
    for (Attribute value : dense.getValues<Attribute>())
      list += (list.empty() ? "" : ", ") + numberText(value, element);
    line(fmt::format("const {} = {{{{{}}}}};", declare(op), list));
  }

  static int64_t bytesOf(Type type) {
    if (isa<LLVM::LLVMPointerType>(type))
      return 0;
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.getNumElements() * bytesOf(vector.getElementType());
    return isa<IndexType>(type) ? 8 : std::max(8u, type.getIntOrFloatBitWidth()) / 8;
  }

  void address(LLVM::GEPOp op) {
    if (op.getIndices().size() != 1)
      fail("--emit c and web: kernels with addresses of several indices are not available yet");
    const bool isTable = isa<LLVM::LLVMPointerType>(op.getElemType());
    const auto index = op.getIndices()[0];
    const std::string steps = isa<IntegerAttr>(index)
                                  ? fmt::format("{}", cast<IntegerAttr>(index).getInt())
                                  : fmt::format("(ptrdiff_t)(int64_t){}", elementText(cast<Value>(index)));
    const std::string size =
        isTable ? "(ptrdiff_t)sizeof(char *)" : fmt::format("{}", bytesOf(op.getElemType()));
    each(op, fmt::format("{} + {} * {}", elementText(op.getBase()), steps, size));
  }

  void load(LLVM::LoadOp op) {
    const std::string declared = declare(op);
    line(declared + ";");
    line(fmt::format("memcpy(&{}, {}, sizeof {});", use(op), use(op.getAddr()), use(op)));
  }

  void store(Value value, Value address) {
    line(fmt::format("memcpy({}, &{}, sizeof {});", use(address), use(value), use(value)));
  }

  void maskedLoad(LLVM::MaskedLoadOp op) {
    const Value result = op->getResult(0);
    const std::string declared = declare(result), name = use(result);
    line(fmt::format("{} = {};", declared, use(op.getPassThru())));
    line(fmt::format("for (int i = 0; i < {}; ++i) if ({}.v[i]) memcpy(&{}.v[i], {} + i * {}, {});",
                     countOf(result.getType()), use(op.getMask()), name, use(op.getData()),
                     bytesOf(elementOf(result.getType())), bytesOf(elementOf(result.getType()))));
  }

  void maskedStore(LLVM::MaskedStoreOp op) {
    const Type type = op.getValue().getType();
    const int64_t bytes = bytesOf(elementOf(type));
    line(fmt::format("for (int i = 0; i < {}; ++i) if ({}.v[i]) memcpy({} + i * {}, &{}.v[i], {});",
                     countOf(type), use(op.getMask()), use(op.getData()), bytes, use(op.getValue()), bytes));
  }

  void maskedGather(LLVM::masked_gather op) {
    const Value result = op->getResult(0);
    const std::string declared = declare(result), name = use(result);
    if (op.getPassThru().empty())
      line(fmt::format("{}; memset(&{}, 0, sizeof {});", declared, name, name));
    else
      line(fmt::format("{} = {};", declared, use(op.getPassThru().front())));
    line(fmt::format("for (int i = 0; i < {}; ++i) if ({}.v[i]) memcpy(&{}.v[i], {}.v[i], {});",
                     countOf(result.getType()), use(op.getMask()), name, use(op.getPtrs()),
                     bytesOf(elementOf(result.getType()))));
  }

  void maskedScatter(LLVM::masked_scatter op) {
    const Type type = op.getValue().getType();
    line(fmt::format("for (int i = 0; i < {}; ++i) if ({}.v[i]) memcpy({}.v[i], &{}.v[i], {});",
                     countOf(type), use(op.getMask()), use(op.getPtrs()), use(op.getValue()),
                     bytesOf(elementOf(type))));
  }

  /// From the first element on, as LLVM adds where nothing allows another order.
  void reduction(vector::ReductionOp op) {
    using enum vector::CombiningKind;
    const auto kind = op.getKind();
    const bool isSingle = elementOf(op.getVector().getType()).isF32();
    const char *form = kind == ADD                    ? "{0} + {1}"
                       : kind == OR                   ? "{0} | {1}"
                       : kind == AND                  ? "{0} & {1}"
                       : kind == MUL                  ? "{0} * {1}"
                       : kind == MAXIMUMF && isSingle ? "kedge_maximumf({0}, {1})"
                       : kind == MINIMUMF && isSingle ? "kedge_minimumf({0}, {1})"
                                                      : nullptr;
    if (!form)
      fail("--emit c and web: kernels with other reductions than sums, products and extremes are not "
           "available yet");
    const std::string declared = declare(op), name = use(op), vector = use(op.getVector());
    line(fmt::format("{} = {};", declared, op.getAcc() ? use(op.getAcc()) : vector + ".v[0]"));
    line(fmt::format("for (int i = {}; i < {}; ++i) {} = {};", op.getAcc() ? 0 : 1,
                     countOf(op.getVector().getType()), name,
                     fmt::format(fmt::runtime(form), name, vector + ".v[i]")));
  }

  void broadcast(vector::BroadcastOp op) {
    const Value source = op.getSource();
    const bool isOne = isa<VectorType>(source.getType());
    if (isOne && countOf(source.getType()) != 1 && source.getType() != op.getType())
      fail("--emit c and web: kernels that repeat a vector are not available yet");
    each(op, !isOne ? use(source) : use(source) + (countOf(source.getType()) == 1 ? ".v[0]" : ".v[i]"));
  }

  void shuffle(vector::ShuffleOp op) {
    const int64_t count = countOf(op.getV1().getType());
    line(declare(op) + ";");
    std::string words;
    for (auto [to, from] : llvm::enumerate(op.getMask()))
      words += fmt::format("{}.v[{}] = {}.v[{}]; ", use(op), to, use(from < count ? op.getV1() : op.getV2()),
                           from < count ? from : from - count);
    line(words);
  }

  std::string placeOf(ArrayRef<OpFoldResult> position, Type one) {
    if (isa<VectorType>(one) || position.size() != 1)
      fail("--emit c and web: kernels with vectors of vectors are not available yet");
    return isa<Attribute>(position.front())
               ? fmt::format("{}", cast<IntegerAttr>(cast<Attribute>(position.front())).getInt())
               : use(cast<Value>(position.front()));
  }

  void extract(vector::ExtractOp op) {
    const std::string place = placeOf(op.getMixedPosition(), op.getType());
    line(fmt::format("const {} = {}.v[{}];", declare(op), use(op.getSource()), place));
  }

  void insert(vector::InsertOp op) {
    const std::string place = placeOf(op.getMixedPosition(), op.getValueToStore().getType());
    line(fmt::format("{} = {};", declare(op), use(op.getDest())));
    line(fmt::format("{}.v[{}] = {};", use(op), place, use(op.getValueToStore())));
  }

  void loop(scf::ForOp op) {
    for (auto [result, begin, carried] :
         llvm::zip(op.getResults(), op.getInitArgs(), op.getRegionIterArgs())) {
      line(fmt::format("{} = {};", declare(result), use(begin)));
      names[carried] = use(result);
    }
    const std::string index = fresh();
    names[op.getInductionVar()] = index;
    line(fmt::format("for (uint64_t {0} = {1}; (int64_t){0} < (int64_t){2}; {0} += {3}) {{", index,
                     use(op.getLowerBound()), use(op.getUpperBound()), use(op.getStep())));
    inside(op, *op.getBody());
    line("}");
  }

  void branch(scf::IfOp op) {
    for (Value result : op.getResults())
      line(declare(result) + ";");
    line(fmt::format("if ({}) {{", use(op.getCondition())));
    inside(op, op.getThenRegion().front());
    if (!op.getElseRegion().empty()) {
      line("} else {");
      inside(op, op.getElseRegion().front());
    }
    line("}");
  }

  void inside(Operation *op, Block &block) {
    ++depth;
    writeBlock(block);
    --depth;
  }

  /// All are read before one is written.
  void yield(scf::YieldOp op) {
    const auto results = op->getParentOp()->getResults();
    std::vector<std::string> kept;
    for (Value value : op.getOperands()) {
      kept.push_back(fresh());
      line(fmt::format("const {} {} = {};", typeOf(value.getType()), kept.back(), use(value)));
    }
    for (auto [result, name] : llvm::zip(results, kept))
      line(fmt::format("{} = {};", use(result), name));
  }

  void call(LLVM::CallOp op) {
    std::string arguments;
    for (Value argument : op.getArgOperands())
      arguments += (arguments.empty() ? "" : ", ") + use(argument);
    line(fmt::format("const {} = {}({});", declare(op.getResult()), op.getCallee()->str(), arguments));
  }

  std::string &text;
  std::set<std::string> &vectors;
  llvm::DenseMap<Value, std::string> names;
  llvm::SetVector<Operation *> waiting; ///< to be written in loops over lanes
  llvm::DenseSet<Value> inLoop;         ///< those that have a name within such a loop alone
  int next = 0, depth = 1;
};

} // namespace

std::string kernelsInC(ModuleOp kernels) {
  kernels->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  std::string functions;
  std::set<std::string> vectors;
  for (Operation &op : *kernels.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!function)
      fail("--emit c and web: kernels with {} are not available yet", op.getName().getStringRef().str());
    if (!function.isExternal()) // else it is of libm
      FunctionWriter(functions, vectors).write(function);
  }
  std::string text = elementFunctionsIn(functions);
  for (const std::string &type : vectors)
    text += type;
  return text + "\n" + functions;
}

} // namespace kedge::exporter
