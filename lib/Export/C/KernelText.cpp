#include "lib/Export/C/KernelText.h"
#include "lib/Export/C/ElementForms.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <map>
#include <set>

using namespace mlir;

namespace kedge::exporter {
namespace {

/// Integers are unsigned: C leaves overflow of others undefined.
std::string scalarType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (isa<IndexType>(type))
    return "uint64_t";
  if (isa<LLVM::LLVMPointerType>(type))
    return "char *";
  if (auto integer = dyn_cast<IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
    case 8:
      return "uint8_t";
    case 16:
      return "uint16_t";
    case 32:
      return "uint32_t";
    case 64:
      return "uint64_t";
    default:
      break;
    }
  std::string text;
  llvm::raw_string_ostream(text) << type;
  fail("--emit c: elements of {} are not available yet; leave out --precision and --quantize", text);
}

std::string nameOf(Type element) {
  return llvm::StringSwitch<std::string>(scalarType(element))
      .Case("float", "f32")
      .Case("double", "f64")
      .Case("char *", "ptr")
      .Case("uint8_t", "u8")
      .Case("uint16_t", "u16")
      .Case("uint32_t", "u32")
      .Default("u64");
}

std::string signedType(Type type) { return scalarType(type).substr(1); }

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
  const std::string &use(Value value) { return names.at(value); }
  std::string elementText(Value value) {
    return isa<VectorType>(value.getType()) ? use(value) + ".v[i]" : use(value);
  }
  static int64_t countOf(Type type) { return cast<VectorType>(type).getNumElements(); }

  void writeBlock(Block &block) {
    for (Operation &op : block)
      llvm::TypeSwitch<Operation *>(&op)
          .Case<arith::ConstantOp>([&](auto op) { constant(op); })
          .Case<arith::CmpIOp, arith::CmpFOp>(
              [&](auto op) { elementwise(op, compareForm(op.getPredicate())); })
          .Case<arith::ExtSIOp>([&](auto op) { extend(op); })
          .Case<arith::TruncIOp>([&](auto op) {
            elementwise(op, op.getType().isInteger(1) || elementOf(op.getType()).isInteger(1) ? "%0 & 1"
                                                                                              : "({r})%0");
          })
          .Case<arith::FPToSIOp>([&](auto op) { elementwise(op, "({r})({rs})%0"); })
          .Case<arith::BitcastOp>([&](auto op) { bitcast(op); })
          .Case<arith::IndexCastOp, arith::IndexCastUIOp>([&](auto op) { elementwise(op, "({r})%0"); })
          .Case<LLVM::GEPOp>([&](auto op) { address(op); })
          .Case<LLVM::LoadOp>([&](auto op) { load(op); })
          .Case<LLVM::StoreOp>([&](auto op) { store(op.getValue(), op.getAddr()); })
          .Case<LLVM::MaskedLoadOp>([&](auto op) { maskedLoad(op); })
          .Case<LLVM::MaskedStoreOp>([&](auto op) { maskedStore(op); })
          .Case<LLVM::masked_gather>([&](auto op) { maskedGather(op); })
          .Case<LLVM::masked_scatter>([&](auto op) { maskedScatter(op); })
          .Case<arith::MulUIExtendedOp>([&](auto op) { wideProduct(op); })
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
            const char *form = elementForm(op);
            if (!form || op->getNumResults() != 1)
              fail("--emit c: kernels with {} are not available yet", op->getName().getStringRef().str());
            elementwise(op, form);
          });
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

  void elementwise(Operation *op, StringRef form) {
    const std::string words = filled(form, op);
    each(op->getResult(0), words);
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
    if (dense.isSplat())
      return each(op, numberText(dense.getSplatValue<Attribute>(), element));
    std::string list;
    for (Attribute value : dense.getValues<Attribute>())
      list += (list.empty() ? "" : ", ") + numberText(value, element);
    line(fmt::format("const {} = {{{{{}}}}};", declare(op), list));
  }

  void extend(arith::ExtSIOp op) {
    const bool isBool = elementOf(op.getIn().getType()).isInteger(1);
    elementwise(op, isBool ? "({r})-({r})%0" : "({r})({rs})({s})%0");
  }

  void bitcast(arith::BitcastOp op) {
    const std::string declared = declare(op);
    line(declared + ";");
    line(fmt::format("memcpy(&{}, &{}, sizeof {});", use(op), use(op.getIn()), use(op)));
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
      fail("--emit c: kernels with addresses of several indices are not available yet");
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

  void wideProduct(arith::MulUIExtendedOp op) {
    if (!elementOf(op.getLow().getType()).isInteger(32))
      fail("--emit c: kernels with wide products of other than 32 bits are not available yet");
    each(op.getLow(), filled("%0 * %1", op));
    each(op.getHigh(), filled("(uint32_t)((uint64_t)%0 * %1 >> 32)", op));
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
      fail("--emit c: kernels with other reductions than sums, products and extremes are not available yet");
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
      fail("--emit c: kernels that repeat a vector are not available yet");
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
      fail("--emit c: kernels with vectors of vectors are not available yet");
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
  int next = 0, depth = 1;
};

/// Propagate NaN, and know -0 from 0, as IEEE's maximum and minimum. Those that `functions` call.
std::string extremesIn(const std::string &functions) {
  std::string text;
  for (const auto &[name, sign] : {std::pair("maximum", ">"), std::pair("minimum", "<")})
    for (const auto &[type, suffix] : {std::pair("float", "f"), std::pair("double", "")}) {
      const std::string function = fmt::format("kedge_{}{}", name, suffix);
      if (functions.find(function + "(") == std::string::npos)
        continue;
      text += fmt::format("static inline {0} {1}({0} a, {0} b) {{\n"
                          "  return a != a || b != b ? a + b : a {2} b ? a : b {2} a ? b : (signbit(a) != 0) "
                          "== {3} ? b : a;\n}}\n",
                          type, function, sign, *sign == '>' ? 1 : 0);
    }
  return text;
}

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
      fail("--emit c: kernels with {} are not available yet", op.getName().getStringRef().str());
    if (!function.isExternal()) // else it is of libm
      FunctionWriter(functions, vectors).write(function);
  }
  std::string text = extremesIn(functions);
  for (const std::string &type : vectors)
    text += type;
  return text + "\n" + functions;
}

} // namespace kedge::exporter
