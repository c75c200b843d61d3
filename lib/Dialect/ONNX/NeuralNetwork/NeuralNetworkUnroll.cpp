// LSTM, GRU, RNN as the products and activations of every step: what trains, and what targets without a
// kernel run. The products with the inputs of all steps are one, and so is a step's product with its state.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/ONNX/NeuralNetwork/RecurrentActivations.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
using Shape = SmallVector<int64_t>;
using Values = SmallVector<Value>;

/// Operands of one direction without its dimension; null where the op has none.
struct Direction {
  int64_t number;
  bool backwards;
  Value w, r, bias, h, c, peepholes;
};

/// What a cell keeps from step to step.
struct Cell {
  Value h, c;
};

class Unroll {
public:
  Unroll(OpBuilder &builder, Operation *op, Value x, Value lengths, bool batchFirst, int64_t hidden)
      : builder(builder), loc(op->getLoc()), math{builder, loc}, x(x), batchFirst(batchFirst),
        hidden(hidden) {
    if (batchFirst)
      this->x = transpose(x, {1, 0, 2});
    if (lengths)
      this->lengths = math.cast(lengths, builder.getI64Type());
  }
  virtual ~Unroll() = default;

  /// Y, Y_h and, of cells with one, Y_c.
  void run(ArrayRef<Direction> directions, SmallVectorImpl<Value> &results) {
    Values all, h, c;
    for (const Direction &direction : directions) {
      prepare(direction);
      auto [y, last] = walk(direction);
      all.push_back(reshape(y, {steps(), 1, batch(), hidden}));
      h.push_back(reshape(last.h, {1, batch(), hidden}));
      if (last.c)
        c.push_back(reshape(last.c, {1, batch(), hidden}));
    }
    results.push_back(outward(joined(all, 1), {2, 0, 1, 3}));
    results.push_back(outward(joined(h, 0), {1, 0, 2}));
    if (!c.empty())
      results.push_back(outward(joined(c, 0), {1, 0, 2}));
  }

  /// Dimension 0 is the direction; states lie batch first where the op does.
  Value partOf(Value operand, int64_t direction, bool isState = false) {
    if (!operand)
      return {};
    int64_t axis = isState && batchFirst ? 1 : 0;
    Shape shape(shapeOf(operand));
    Value part = slice(operand, axis, direction, direction + 1);
    shape.erase(shape.begin() + axis);
    return reshape(part, shape);
  }
  Value stateOf(Value operand, int64_t direction) { return partOf(operand, direction, true); }

protected:
  /// Products that need no state, before the first step.
  virtual void prepare(const Direction &direction) = 0;
  virtual Cell advance(const Direction &direction, int64_t step, Cell cell) = 0;

  int64_t steps() const { return shapeOf(x)[0]; }
  int64_t batch() const { return shapeOf(x)[1]; }

  Value reshape(Value v, ArrayRef<int64_t> shape) {
    return shapeOf(v) == shape ? v : Value(ReshapeOp::create(builder, loc, v, shape));
  }
  Value transpose(Value v, ArrayRef<int64_t> perm) { return TransposeOp::create(builder, loc, v, perm); }
  Value slice(Value v, int64_t axis, int64_t start, int64_t end) {
    if (!v || (start == 0 && end == shapeOf(v)[axis]))
      return v;
    Shape starts(rankOf(v), 0), ends(shapeOf(v)), ones(rankOf(v), 1);
    starts[axis] = start;
    ends[axis] = end;
    return SliceOp::create(builder, loc, v, starts, ends, ones);
  }
  Values split(Value v, int64_t axis, int64_t parts) {
    if (parts == 1)
      return {v};
    Shape sizes(parts, shapeOf(v)[axis] / parts);
    return Values(SplitOp::create(builder, loc, v, axis, sizes).getOutputs());
  }
  Value joined(ArrayRef<Value> parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : Value(ConcatOp::create(builder, loc, ValueRange(parts), axis));
  }
  /// v weights^T + added.
  Value product(Value v, Value weights, Value added) {
    return GemmOp::create(builder, loc, v, weights, added, false, true, APFloat(1.0f), APFloat(1.0f));
  }
  /// [batch, rows of `weights`] of every step, in the order in which steps are walked.
  Values inputMatmuls(const Direction &direction, Value weights, Value bias) {
    Value given = direction.backwards && lengths ? reversed(x) : x;
    Value flat = reshape(given, {steps() * batch(), shapeOf(x)[2]});
    Values parts = split(product(flat, weights, bias), 0, steps());
    if (direction.backwards && !lengths)
      std::reverse(parts.begin(), parts.end());
    return parts;
  }
  Value sum(Value a, Value b) { return a && b ? math.add(a, b) : a ? a : b; }
  Value oneMinus(Value v) { return math.sub(scalarLike(builder, loc, v, 1), v); }

  OpBuilder &builder;
  Location loc;
  GradientBuilder math;
  Value x, lengths;
  bool batchFirst;
  int64_t hidden;

private:
  /// The first elements of each sequence in reverse, the padding behind them in place.
  Value reversed(Value v) {
    return ReverseSequenceOp::create(builder, loc, v, lengths, /*batch*/ 1, /*time*/ 0);
  }

  Value outward(Value v, ArrayRef<int64_t> perm) { return batchFirst ? transpose(v, perm) : v; }

  /// bool [batch, 1]: whether the sequence has this step.
  Value runs(int64_t step) {
    auto number = RankedTensorType::get({}, builder.getI64Type());
    Value at = ConstantOp::create(builder, loc, DenseElementsAttr::get(number, ArrayRef<int64_t>{step}));
    return LessOp::create(builder, loc, at, reshape(lengths, {batch(), 1}));
  }
  Value choose(Value condition, Value a, Value b) {
    return a ? Value(WhereOp::create(builder, loc, condition, a, b)) : a;
  }

  std::pair<Value, Cell> walk(const Direction &direction) {
    Cell cell{direction.h, direction.c};
    Value zero = splat(builder, loc, RankedTensorType::get({batch(), hidden}, elementOf(x)), 0);
    for (Value *state : {&cell.h, &cell.c})
      if (!*state)
        *state = zero;
    Values rows;
    for (int64_t step = 0; step < steps(); ++step) {
      Cell next = advance(direction, step, cell);
      Value there = lengths ? runs(step) : Value();
      rows.push_back(there ? choose(there, next.h, zero) : next.h);
      cell = there ? Cell{choose(there, next.h, cell.h), choose(there, next.c, cell.c)} : next;
    }
    if (direction.backwards && !lengths)
      std::reverse(rows.begin(), rows.end());
    Value all = reshape(joined(rows, 0), {steps(), batch(), hidden});
    return {direction.backwards && lengths ? reversed(all) : all, cell};
  }
};

/// What the three ops share of their attributes.
template <typename Op> struct Layer : Unroll {
  Op op;
  RecurrentActivations activations;

  Layer(OpBuilder &builder, Op op, ArrayRef<StringRef> missing)
      : Unroll(builder, op, op.getX(), op.getSequenceLens(), op.getLayout() == 1, op.getHiddenSize()), op(op),
        activations(op.getActivationsAttr(), op.getActivationAlpha().value_or(ArrayRef<float>()),
                    op.getActivationBeta().value_or(ArrayRef<float>()), missing, shapeOf(op.getW())[0]) {}

  LogicalResult build(SmallVectorImpl<Value> &results) {
    if (!activations.known())
      return failure();
    SmallVector<Direction> directions;
    for (int64_t k = 0; k < shapeOf(op.getW())[0]; ++k) {
      Direction direction{k,
                          k == 1 || op.getDirection() == "reverse",
                          partOf(op.getW(), k),
                          partOf(op.getR(), k),
                          partOf(op.getB(), k),
                          stateOf(op.getInitialH(), k),
                          {},
                          {}};
      if constexpr (std::is_same_v<Op, LSTMOp>) {
        direction.c = stateOf(op.getInitialC(), k);
        direction.peepholes = partOf(op.getP(), k);
      }
      directions.push_back(direction);
    }
    run(directions, results);
    return success();
  }

  Value activate(const Direction &direction, int64_t k, Value v) {
    if (op.getClip())
      v = ClipOp::create(builder, loc, v, scalarLike(builder, loc, v, -op.getClip()->convertToDouble()),
                         scalarLike(builder, loc, v, op.getClip()->convertToDouble()));
    return activations.apply(builder, loc, direction.number, k, v);
  }

  /// Rows of gates [first, first + count) of weights, or of a bias behind `offset` gates.
  Value gates(Value v, int64_t first, int64_t count, int64_t offset = 0) {
    return slice(v, 0, (offset + first) * hidden, (offset + first + count) * hidden);
  }
  Value bothBiases(const Direction &d, int64_t first, int64_t count, int64_t all) {
    return d.bias ? math.add(gates(d.bias, first, count), gates(d.bias, first, count, all)) : Value();
  }
};

struct Rnn : Layer<RNNOp> {
  Rnn(OpBuilder &builder, RNNOp op) : Layer(builder, op, {"Tanh"}) {}
  Values inputs;

  void prepare(const Direction &d) override { inputs = inputMatmuls(d, d.w, bothBiases(d, 0, 1, 1)); }
  Cell advance(const Direction &d, int64_t step, Cell cell) override {
    return {activate(d, 0, product(cell.h, d.r, inputs[step])), {}};
  }
};

/// Gates z, r, h.
struct Gru : Layer<GRUOp> {
  Gru(OpBuilder &builder, GRUOp op) : Layer(builder, op, {"Sigmoid", "Tanh"}) {}
  Values inputs, candidates;
  Value weights, candidateWeights, candidateBias;

  void prepare(const Direction &d) override {
    bool late = op.getLinearBeforeReset() != 0;
    inputs = inputMatmuls(d, gates(d.w, 0, 2), bothBiases(d, 0, 2, 3));
    Value bias = late ? gates(d.bias, 2, 1) : bothBiases(d, 2, 1, 3);
    candidates = inputMatmuls(d, gates(d.w, 2, 1), bias);
    weights = gates(d.r, 0, 2);
    candidateWeights = gates(d.r, 2, 1);
    candidateBias = gates(d.bias, 2, 1, 3);
  }

  Cell advance(const Direction &d, int64_t step, Cell cell) override {
    Values parts = split(product(cell.h, weights, inputs[step]), 1, 2);
    Value z = activate(d, 0, parts[0]), r = activate(d, 0, parts[1]), candidate;
    if (op.getLinearBeforeReset())
      candidate = math.add(candidates[step], math.mul(r, product(cell.h, candidateWeights, candidateBias)));
    else
      candidate = product(math.mul(r, cell.h), candidateWeights, candidates[step]);
    candidate = activate(d, 1, candidate);
    return {math.add(math.mul(oneMinus(z), candidate), math.mul(z, cell.h)), {}};
  }
};

/// Gates i, o, f, c; peepholes i, o, f.
struct Lstm : Layer<LSTMOp> {
  Lstm(OpBuilder &builder, LSTMOp op) : Layer(builder, op, {"Sigmoid", "Tanh", "Tanh"}) {}
  Values inputs;

  void prepare(const Direction &d) override { inputs = inputMatmuls(d, d.w, bothBiases(d, 0, 4, 4)); }

  Value seen(const Direction &d, int64_t gate, Value v, Value c) {
    return d.peepholes ? math.add(v, math.mul(gates(d.peepholes, gate, 1), c)) : v;
  }

  Cell advance(const Direction &d, int64_t step, Cell cell) override {
    Values parts = split(product(cell.h, d.r, inputs[step]), 1, 4);
    Value i = activate(d, 0, seen(d, 0, parts[0], cell.c));
    Value f = op.getInputForget() ? oneMinus(i) : activate(d, 0, seen(d, 2, parts[2], cell.c));
    Value c = math.add(math.mul(f, cell.c), math.mul(i, activate(d, 1, parts[3])));
    Value o = activate(d, 0, seen(d, 1, parts[1], c));
    return {math.mul(o, activations.apply(builder, loc, d.number, 2, c)), c};
  }
};
} // namespace

LogicalResult LSTMOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  return Lstm(builder, *this).build(results);
}
LogicalResult GRUOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  return Gru(builder, *this).build(results);
}
LogicalResult RNNOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  return Rnn(builder, *this).build(results);
}

// The kernel runs all steps in one launch.
bool LSTMOp::hasKernelOn(TargetKind target) { return target == TargetKind::Cpu; }
bool GRUOp::hasKernelOn(TargetKind target) { return target == TargetKind::Cpu; }
bool RNNOp::hasKernelOn(TargetKind target) { return target == TargetKind::Cpu; }
