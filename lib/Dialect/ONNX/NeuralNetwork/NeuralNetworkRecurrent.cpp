// LSTM, GRU, RNN: shapes. NeuralNetworkUnroll.cpp writes them out.
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
/// Y [T, D, B, H] and `states` final states [D, B, H]; with layout 1 batch first: [B, T, D, H], [B, D, H].
template <typename Adaptor>
LogicalResult inferRecurrent(std::optional<Location> loc, Adaptor adaptor, int64_t gates, unsigned states,
                             SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX());
  int64_t hidden = adaptor.getHiddenSize(), directions = adaptor.getDirection() == "bidirectional" ? 2 : 1;
  if (x.getRank() != 3)
    return emitOptionalError(loc, "a recurrent layer needs X of rank 3, found ", x);
  if (shapeOf(adaptor.getW()) != ArrayRef<int64_t>{directions, gates * hidden, x.getDimSize(2)} ||
      shapeOf(adaptor.getR()) != ArrayRef<int64_t>{directions, gates * hidden, hidden})
    return emitOptionalError(loc, "W ", adaptor.getW().getType(), " and R ", adaptor.getR().getType(),
                             " do not fit X ", x, " with ", directions, " directions, ", gates,
                             " gates of size ", hidden);
  bool batchFirst = adaptor.getLayout() == 1;
  int64_t time = x.getDimSize(batchFirst ? 1 : 0), batch = x.getDimSize(batchFirst ? 0 : 1);
  SmallVector<int64_t> all = {time, directions, batch, hidden}, last = {directions, batch, hidden};
  if (batchFirst) {
    all = {batch, time, directions, hidden};
    last = {batch, directions, hidden};
  }
  types.push_back(x.clone(all));
  types.append(states, x.clone(last));
  return success();
}
} // namespace

LogicalResult LSTMOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferRecurrent(loc, adaptor, 4, 2, types);
}
LogicalResult GRUOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  return inferRecurrent(loc, adaptor, 3, 1, types);
}
LogicalResult RNNOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  return inferRecurrent(loc, adaptor, 1, 1, types);
}
