// Philox4x32-10 in lanes, equal to runtime/format/Philox.h.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Cluster/ScalarOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {

/// 32-bit words of 64-bit values.
struct HalfWords {
  OpBuilder &b;
  Location loc;

  Value low(Value v) { return arith::TruncIOp::create(b, loc, lanesOf(b.getI32Type(), widthOf(v)), v); }
  Value high(Value v) { return low(shifted(v, 32)); }
  Value shifted(Value v, int64_t by) {
    ScalarOps ops(b, loc);
    return arith::ShRUIOp::create(b, loc, v, ops.intConstant(64, by, widthOf(v)));
  }
};

} // namespace

std::array<Value, 4> ScalarOps::philox(std::array<Value, 4> counter, Value key0, Value key1) {
  unsigned width = widthOf(counter[0]);
  auto number = [&](uint32_t v, unsigned lanes) { return intConstant(32, static_cast<int32_t>(v), lanes); };
  auto exclusive = [&](Value a, Value b) -> Value {
    return arith::XOrIOp::create(builder, loc, a, splat(b, width));
  };
  for (int round = 0; round < 10; ++round) {
    auto product0 = arith::MulUIExtendedOp::create(builder, loc, counter[0], number(0xD2511F53u, width));
    auto product1 = arith::MulUIExtendedOp::create(builder, loc, counter[2], number(0xCD9E8D57u, width));
    counter = {exclusive(exclusive(product1.getHigh(), counter[1]), key0), product1.getLow(),
               exclusive(exclusive(product0.getHigh(), counter[3]), key1), product0.getLow()};
    key0 = arith::AddIOp::create(builder, loc, key0, number(0x9E3779B9u, widthOf(key0)));
    key1 = arith::AddIOp::create(builder, loc, key1, number(0xBB67AE85u, widthOf(key1)));
  }
  return counter;
}

Value ScalarOps::uniform(Value word) {
  unsigned width = widthOf(word);
  // 24 bits: exact as a float, and signed conversion is the cheap one.
  Value bits = arith::ShRUIOp::create(builder, loc, word, intConstant(32, 8, width));
  Value value = arith::SIToFPOp::create(builder, loc, lanesOf(builder.getF32Type(), width), bits);
  return arith::MulFOp::create(builder, loc, value, constant(builder.getF32FloatAttr(0x1p-24f), width));
}

Value ScalarOps::random(sched::RandomOp op, ValueRange operands, unsigned width) {
  HalfWords words{builder, loc};
  Value seed = operands[0], step = operands[1], row = operands[2], element = operands[3];
  Value key1 =
      arith::XOrIOp::create(builder, loc, words.high(seed), intConstant(32, int32_t(op.getOpId()), width));
  auto drawn =
      philox({words.low(words.shifted(element, 2)), words.low(row), words.low(step), words.high(step)},
             words.low(seed), key1);
  Value word = arith::AndIOp::create(builder, loc, words.low(element), intConstant(32, 3, width));
  Value chosen = drawn[3];
  for (int at = 2; at >= 0; --at) {
    Value here =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, word, intConstant(32, at, width));
    chosen = arith::SelectOp::create(builder, loc, here, drawn[at], chosen);
  }
  return uniform(chosen);
}

SmallVector<Value> ScalarOps::randomRun(sched::RandomOp op, Value seed, Value step, Value row, Value first,
                                        unsigned width, unsigned copies) {
  HalfWords words{builder, loc};
  Value key1 =
      arith::XOrIOp::create(builder, loc, words.high(seed), intConstant(32, int32_t(op.getOpId()), 1));
  SmallVector<Attribute> lanes;
  for (unsigned lane = 0; lane < width; ++lane)
    lanes.push_back(builder.getI32IntegerAttr(lane));
  auto type = cast<VectorType>(lanesOf(builder.getI32Type(), width));
  Value iota = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, lanes));
  Value block = arith::AddIOp::create(builder, loc, splat(words.low(words.shifted(first, 2)), width), iota);
  auto drawn = philox(
      {block, splat(words.low(row), width), splat(words.low(step), width), splat(words.high(step), width)},
      words.low(seed), key1);
  SmallVector<Value> values;
  for (unsigned copy = 0; copy < copies; ++copy) {
    // Lane l of this copy: word l % 4 of block copy * width / 4 + l / 4.
    SmallVector<int64_t> pairs, blend;
    for (unsigned lane = 0; lane < width; ++lane) {
      pairs.push_back(copy * width / 4 + lane / 4 + (lane % 2 ? width : 0));
      blend.push_back(lane % 4 < 2 ? lane : width + lane);
    }
    Value even = vector::ShuffleOp::create(builder, loc, drawn[0], drawn[1], pairs);
    Value odd = vector::ShuffleOp::create(builder, loc, drawn[2], drawn[3], pairs);
    values.push_back(uniform(vector::ShuffleOp::create(builder, loc, even, odd, blend)));
  }
  return values;
}

Value ScalarOps::randomBlock(sched::RandomOp op, Value seed, Value step, Value row, Value first) {
  HalfWords words{builder, loc};
  Value key1 =
      arith::XOrIOp::create(builder, loc, words.high(seed), intConstant(32, int32_t(op.getOpId()), 1));
  auto drawn = philox({words.low(words.shifted(first, 2)), words.low(row), words.low(step), words.high(step)},
                      words.low(seed), key1);
  return uniform(
      vector::FromElementsOp::create(builder, loc, VectorType::get({4}, builder.getI32Type()), drawn));
}
