#include "lib/Export/C/ElementForms.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <tuple>

using namespace mlir;

namespace kedge::exporter {

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
  fail("--emit c and web: elements of {} are not available yet; leave out --precision and --quantize", text);
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

static const char *elementForm(Operation *op) {
  static const llvm::StringMap<const char *> forms = {
      {"arith.addf", "%0 + %1"},
      {"arith.subf", "%0 - %1"},
      {"arith.mulf", "%0 * %1"},
      {"arith.divf", "%0 / %1"},
      {"arith.negf", "-%0"},
      {"arith.maximumf", "kedge_maximum{f}(%0, %1)"},
      {"arith.minimumf", "kedge_minimum{f}(%0, %1)"},
      {"arith.maxnumf", "fmax{f}(%0, %1)"},
      {"arith.minnumf", "fmin{f}(%0, %1)"},
      {"arith.addi", "({t})(%0 + %1)"},
      {"arith.subi", "({t})(%0 - %1)"},
      {"arith.muli", "({t})(%0 * %1)"},
      {"arith.divui", "({t})(%0 / %1)"},
      {"arith.remui", "({t})(%0 % %1)"},
      {"arith.divsi", "({t})(({s})%0 / ({s})%1)"},
      {"arith.remsi", "({t})(({s})%0 % ({s})%1)"},
      {"arith.andi", "({t})(%0 & %1)"},
      {"arith.ori", "({t})(%0 | %1)"},
      {"arith.xori", "({t})(%0 ^ %1)"},
      {"arith.shli", "({t})(%0 << %1)"},
      {"arith.shrui", "({t})(%0 >> %1)"},
      {"arith.shrsi", "({t})(({s})%0 >> %1)"},
      {"arith.maxui", "(%0 > %1 ? %0 : %1)"},
      {"arith.minui", "(%0 < %1 ? %0 : %1)"},
      {"arith.maxsi", "(({s})%0 > ({s})%1 ? %0 : %1)"},
      {"arith.minsi", "(({s})%0 < ({s})%1 ? %0 : %1)"},
      {"arith.select", "%0 ? %1 : %2"},
      {"arith.extui", "({r})%0"},
      {"arith.uitofp", "({r})%0"},
      {"arith.sitofp", "({r})({s})%0"},
      {"arith.fptoui", "({r})%0"},
      {"arith.extf", "({r})%0"},
      {"arith.truncf", "({r})%0"},
      {"math.sqrt", "sqrt{f}(%0)"},
      {"math.absf", "fabs{f}(%0)"},
      {"math.floor", "floor{f}(%0)"},
      {"math.ceil", "ceil{f}(%0)"},
      {"math.trunc", "trunc{f}(%0)"},
      {"math.round", "round{f}(%0)"},
      {"math.roundeven", "rint{f}(%0)"},
      {"math.copysign", "copysign{f}(%0, %1)"},
      {"math.isnan", "isnan(%0) != 0"},
      {"math.isinf", "isinf(%0) != 0"},
  };
  const auto found = forms.find(op->getName().getStringRef());
  return found == forms.end() ? nullptr : found->second;
}

static const char *compareForm(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
  case eq:
    return "%0 == %1";
  case ne:
    return "%0 != %1";
  case slt:
    return "({s})%0 < ({s})%1";
  case sle:
    return "({s})%0 <= ({s})%1";
  case sgt:
    return "({s})%0 > ({s})%1";
  case sge:
    return "({s})%0 >= ({s})%1";
  case ult:
    return "%0 < %1";
  case ule:
    return "%0 <= %1";
  case ugt:
    return "%0 > %1";
  case uge:
    return "%0 >= %1";
  }
  return nullptr;
}

/// Unordered ones are the opposite of the ordered ones' opposite.
static const char *compareForm(arith::CmpFPredicate predicate) {
  using enum arith::CmpFPredicate;
  switch (predicate) {
  case AlwaysFalse:
    return "0";
  case OEQ:
    return "%0 == %1";
  case OGT:
    return "%0 > %1";
  case OGE:
    return "%0 >= %1";
  case OLT:
    return "%0 < %1";
  case OLE:
    return "%0 <= %1";
  case ONE:
    return "%0 < %1 || %0 > %1";
  case ORD:
    return "%0 == %0 && %1 == %1";
  case UEQ:
    return "!(%0 < %1 || %0 > %1)";
  case UGT:
    return "!(%0 <= %1)";
  case UGE:
    return "!(%0 < %1)";
  case ULT:
    return "!(%0 >= %1)";
  case ULE:
    return "!(%0 > %1)";
  case UNE:
    return "%0 != %1";
  case UNO:
    return "%0 != %0 || %1 != %1";
  case AlwaysTrue:
    return "1";
  }
  return nullptr;
}

std::vector<std::string> elementForms(Operation *op) {
  const auto element = [](Value value) { return getElementTypeOrSelf(value.getType()); };
  return llvm::TypeSwitch<Operation *, std::vector<std::string>>(op)
      .Case<arith::CmpIOp, arith::CmpFOp>(
          [](auto op) -> std::vector<std::string> { return {compareForm(op.getPredicate())}; })
      .Case<arith::ExtSIOp>([&](auto op) -> std::vector<std::string> {
        return {element(op.getIn()).isInteger(1) ? "({r})-({r})%0" : "({r})({rs})({s})%0"};
      })
      .Case<arith::TruncIOp>([&](auto op) -> std::vector<std::string> {
        return {element(op).isInteger(1) ? "%0 & 1" : "({r})%0"};
      })
      .Case<arith::FPToSIOp>([](auto) -> std::vector<std::string> { return {"({r})({rs})%0"}; })
      .Case<math::FmaOp>([&](auto op) -> std::vector<std::string> {
        return {element(op).isF32() ? "KEDGE_FMA(%0, %1, %2)" : "fma(%0, %1, %2)"};
      })
      .Case<arith::BitcastOp>([&](auto op) -> std::vector<std::string> {
        if (element(op).getIntOrFloatBitWidth() != element(op.getIn()).getIntOrFloatBitWidth())
          return {};
        return {fmt::format("kedge_{}_of_{}(%0)", nameOf(element(op)), nameOf(element(op.getIn())))};
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [](auto) -> std::vector<std::string> { return {"({r})%0"}; })
      .Case<arith::MulUIExtendedOp>([&](auto op) -> std::vector<std::string> {
        if (!element(op.getLow()).isInteger(32))
          return {};
        return {"%0 * %1", "(uint32_t)((uint64_t)%0 * %1 >> 32)"};
      })
      .Default([](Operation *op) -> std::vector<std::string> {
        const char *form = elementForm(op);
        return form && op->getNumResults() == 1 ? std::vector<std::string>{form} : std::vector<std::string>();
      });
}

std::string elementFunctionsIn(const std::string &functions) {
  const auto isCalled = [](const std::string &text, const std::string &name) {
    return text.find(name + "(") != std::string::npos;
  };
  std::string extremes, bits;
  struct Float {
    const char *type, *suffix, *name, *word, *wordName;
  };
  for (const Float &f :
       {Float{"float", "f", "f32", "uint32_t", "u32"}, Float{"double", "", "f64", "uint64_t", "u64"}}) {
    for (const auto &[name, sign, other, joins] :
         {std::tuple("maximum", '>', '<', '&'), std::tuple("minimum", '<', '>', '|')})
      if (isCalled(functions, fmt::format("kedge_{}{}", name, f.suffix)))
        extremes +=
            fmt::format("static inline {0} kedge_{1}{2}({0} a, {0} b) {{\n"
                        "  const {0} same = kedge_{3}_of_{4}(kedge_{4}_of_{3}(a) {7} kedge_{4}_of_{3}(b));\n"
                        "  return ((a != a) | (b != b)) ? a + b : a {5} b ? a : a {6} b ? b : same;\n}}\n",
                        f.type, name, f.suffix, f.name, f.wordName, sign, other, joins);
    for (const auto &[to, toName, from, fromName] :
         {std::tuple(f.type, f.name, f.word, f.wordName), std::tuple(f.word, f.wordName, f.type, f.name)})
      if (const std::string name = fmt::format("kedge_{}_of_{}", toName, fromName);
          isCalled(functions + extremes, name))
        bits += fmt::format("static inline {0} {1}({2} from) {{\n  {0} to;\n  memcpy(&to, &from, sizeof "
                            "to);\n  return to;\n}}\n",
                            to, name, from);
  }
  return bits + extremes;
}

} // namespace kedge::exporter
