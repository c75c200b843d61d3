#include "lib/Dialect/Train/Optimizer/TableLookup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"
#include <map>

using namespace mlir;
using namespace kedge;

Value train::lookUp(ClusterBodyBuilder &b, Value code, ArrayRef<float> table) {
  std::map<uint32_t, Value> constants; // by their bits: 0 and -0 are two
  SmallVector<Value> values;
  for (float entry : table) {
    Value &constant = constants[llvm::bit_cast<uint32_t>(entry)];
    if (!constant)
      constant = arith::ConstantOp::create(b.builder, b.loc, b.builder.getF32FloatAttr(entry));
    values.push_back(constant);
  }
  for (int64_t bit = 1; values.size() > 1; bit *= 2) {
    Value mask = b.constantInt(code.getType(), bit);
    Value isSet =
        b.compare(ClusterBodyBuilder::Compare::NE, arith::AndIOp::create(b.builder, b.loc, code, mask),
                  b.constantInt(code.getType(), 0));
    SmallVector<Value> half;
    for (size_t k = 0; k < values.size(); k += 2)
      half.push_back(values[k] == values[k + 1] ? values[k] : b.select(isSet, values[k + 1], values[k]));
    values = half;
  }
  return values[0];
}
