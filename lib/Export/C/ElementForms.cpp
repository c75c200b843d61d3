#include "lib/Export/C/ElementForms.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace kedge::exporter {

const char *elementForm(Operation *op) {
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

const char *compareForm(arith::CmpIPredicate predicate) {
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
const char *compareForm(arith::CmpFPredicate predicate) {
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

} // namespace kedge::exporter
