// Einsum as diagonals, sums, matrix products and transposes.
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include <cctype>
#include <map>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
using Labels = SmallVector<int>;

/// A tensor with a label a dimension.
struct Term {
  Value value;
  Labels labels;
  bool has(int label) const { return llvm::is_contained(labels, label); }
};

/// Dims behind "..." get labels of their own, counted from the last one.
int ellipsisLabel(int64_t fromEnd) { return 1000 - static_cast<int>(fromEnd); }

struct Einsum {
  NodeContext &node;
  OpBuilder &builder;
  Location loc;

  explicit Einsum(NodeContext &node) : node(node), builder(node.builder), loc(node.loc) {}

  Labels parse(StringRef text, int64_t ellipsisDims) {
    Labels labels;
    while (!text.empty()) {
      if (text.consume_front("..."))
        for (int64_t k = ellipsisDims; k > 0; --k)
          labels.push_back(ellipsisLabel(k));
      else if (std::isalpha(static_cast<unsigned char>(text.front())))
        labels.push_back(text.front()), text = text.drop_front();
      else
        node.fail("equation '{}' has '{}', which is no label", node.node.attrString("equation"), text.str());
    }
    return labels;
  }

  int64_t sizeOf(const Term &term, int label) const {
    auto at = llvm::find(term.labels, label);
    return at == term.labels.end() ? 1 : shapeOf(term.value)[at - term.labels.begin()];
  }

  /// Dims in the given order; labels that the term lacks become dims of size 1.
  Value arranged(const Term &term, ArrayRef<int> order) {
    Dims perm, shape;
    for (int label : order) {
      if (term.has(label))
        perm.push_back(llvm::find(term.labels, label) - term.labels.begin());
      shape.push_back(sizeOf(term, label));
    }
    return reshape(builder, loc, transpose(builder, loc, term.value, perm), shape);
  }

  /// Repeated labels: the two dims side by side, flattened, every (size + 1)-th element.
  void takeDiagonals(Term &term) {
    for (size_t i = 0; i < term.labels.size(); ++i)
      for (size_t j = i + 1; j < term.labels.size();) {
        if (term.labels[i] != term.labels[j]) {
          ++j;
          continue;
        }
        Dims perm = firstDims(term.labels.size());
        perm.erase(perm.begin() + j);
        perm.insert(perm.begin() + i + 1, j);
        Value moved = transpose(builder, loc, term.value, perm);
        Dims flat = without(shapeOf(moved), i + 1);
        int64_t size = flat[i];
        if (shapeOf(moved)[i + 1] != size)
          node.fail("label '{}' names dimensions of sizes {} and {}", char(term.labels[i]), size,
                    shapeOf(moved)[i + 1]);
        flat[i] = size * size;
        Dims starts(flat.size(), 0), ends(flat), steps(flat.size(), 1);
        steps[i] = size + 1;
        term.value =
            onnx::SliceOp::create(builder, loc, reshape(builder, loc, moved, flat), starts, ends, steps);
        term.labels.erase(term.labels.begin() + j);
      }
  }

  void sumAllBut(Term &term, ArrayRef<int> keep) {
    Dims axes;
    Labels rest;
    for (auto [i, label] : llvm::enumerate(term.labels))
      if (llvm::is_contained(keep, label))
        rest.push_back(label);
      else
        axes.push_back(i);
    if (!axes.empty())
      term.value = onnx::ReduceSumOp::create(builder, loc, term.value, axes, /*keepdims=*/false);
    term.labels = rest;
  }

  /// Stretches dims of size 1 that meet larger ones of the same label.
  void matchSizes(Term &term, const Term &other) {
    Dims shape(shapeOf(term.value));
    for (auto [i, label] : llvm::enumerate(term.labels)) {
      if (!other.has(label) || sizeOf(other, label) == shape[i])
        continue;
      if (shape[i] != 1 && sizeOf(other, label) != 1)
        node.fail("a label of equation '{}' names sizes {} and {}", node.node.attrString("equation"),
                  shape[i], sizeOf(other, label));
      shape[i] = shape[i] == 1 ? sizeOf(other, label) : shape[i];
    }
    term.value = expand(builder, loc, term.value, shape);
  }

  int64_t product(const Term &term, ArrayRef<int> labels) {
    int64_t count = 1;
    for (int label : labels)
      count *= sizeOf(term, label);
    return count;
  }

  /// batch x rows x columns; batch left out when there is none. `swapped` when the term lies as
  /// batch x columns x rows already.
  Value asMatrix(const Term &term, ArrayRef<int> batch, ArrayRef<int> rows, ArrayRef<int> columns,
                 bool &swapped) {
    auto order = [&](ArrayRef<int> second, ArrayRef<int> third) {
      Labels all(batch);
      llvm::append_range(all, second);
      llvm::append_range(all, third);
      return all;
    };
    swapped = term.labels == order(columns, rows) && term.labels != order(rows, columns);
    Value value = swapped ? term.value : arranged(term, order(rows, columns));
    Dims shape = {product(term, rows), product(term, columns)};
    if (swapped)
      std::swap(shape[0], shape[1]);
    if (!batch.empty())
      shape.insert(shape.begin(), product(term, batch));
    return reshape(builder, loc, value, shape);
  }

  Term multiply(Term a, Term b, ArrayRef<int> keep) {
    Labels keptA(keep), keptB(keep);
    llvm::append_range(keptA, b.labels);
    llvm::append_range(keptB, a.labels);
    sumAllBut(a, keptA);
    sumAllBut(b, keptB);
    matchSizes(a, b);
    matchSizes(b, a);
    Labels batch, contracted, onlyA, onlyB;
    for (int label : a.labels)
      (!b.has(label) ? onlyA : llvm::is_contained(keep, label) ? batch : contracted).push_back(label);
    for (int label : b.labels)
      if (!a.has(label))
        onlyB.push_back(label);
    Term result;
    for (const Labels *part : {&batch, &onlyA, &onlyB})
      llvm::append_range(result.labels, *part);
    if (contracted.empty()) {
      result.value =
          onnx::MulOp::create(builder, loc, arranged(a, result.labels), arranged(b, result.labels));
      return result;
    }
    bool transA = false, transB = false;
    Value left = asMatrix(a, batch, onlyA, contracted, transA);
    Value right = asMatrix(b, batch, contracted, onlyB, transB);
    Value matrix = onnx::MatMulOp::create(builder, loc, left, right, builder.getBoolAttr(transA),
                                          builder.getBoolAttr(transB));
    Dims shape;
    for (int label : result.labels)
      shape.push_back(sizeOf(a.has(label) ? a : b, label));
    result.value = reshape(builder, loc, matrix, shape);
    return result;
  }

  SmallVector<Term> terms(StringRef inputs, int64_t &ellipsisDims) {
    SmallVector<StringRef> texts;
    inputs.split(texts, ',');
    if (texts.size() != node.operandCount())
      node.fail("the equation names {} operands, the node has {}", texts.size(), node.operandCount());
    SmallVector<Term> result;
    for (auto [k, text] : llvm::enumerate(texts)) {
      Value value = node.require(k);
      int64_t behind = rankOf(value) - (int64_t)parse(text, 0).size();
      Labels labels = parse(text, std::max<int64_t>(behind, 0));
      if ((int64_t)labels.size() != rankOf(value))
        node.fail("term '{}' does not fit operand {} of rank {}", text.str(), k, rankOf(value));
      ellipsisDims = std::max(ellipsisDims, behind);
      result.push_back({value, labels});
    }
    return result;
  }

  /// Without "->": the ellipsis, then the labels that occur once, in alphabetical order.
  Labels implicitOutput(ArrayRef<Term> terms, int64_t ellipsisDims) {
    std::map<int, int> counts;
    for (const Term &term : terms)
      for (int label : term.labels)
        ++counts[label];
    Labels labels = parse("...", ellipsisDims);
    for (auto [label, count] : counts)
      if (count == 1 && label < 256)
        labels.push_back(label);
    return labels;
  }

  void run() {
    std::string equation = node.node.attrString("equation");
    llvm::erase(equation, ' ');
    auto [inputs, output] = StringRef(equation).split("->");
    int64_t ellipsisDims = 0;
    SmallVector<Term> all = terms(inputs, ellipsisDims);
    Labels wanted =
        StringRef(equation).contains("->") ? parse(output, ellipsisDims) : implicitOutput(all, ellipsisDims);
    for (Term &term : all)
      takeDiagonals(term);
    Term result = all[0];
    for (size_t k = 1; k < all.size(); ++k) {
      Labels keep(wanted);
      for (const Term &later : ArrayRef(all).drop_front(k + 1))
        llvm::append_range(keep, later.labels);
      result = multiply(result, all[k], keep);
    }
    sumAllBut(result, wanted);
    if (result.labels.size() != wanted.size())
      node.fail("equation '{}' has labels in its result that no operand has, or twice", equation);
    node.setResult(0, arranged(result, wanted));
  }
};
} // namespace

static void importEinsum(NodeContext &node) { Einsum(node).run(); }

void kedge::importer::registerEinsumImporter(NodeImporters &importers) {
  importers.add("Einsum", importEinsum);
}
