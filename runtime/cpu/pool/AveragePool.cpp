// onnx.AveragePool and its gradient. A plane is one channel of one image; planes are shared out among the
// threads.
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/pool/PlaneGradient.h"
#include "runtime/cpu/pool/PoolWindows.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using Pointer = std::unique_ptr<LibraryKernel>;

Pointer makeAveragePool(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  PoolShape p = readPool(call, call.inputs[0], call.outputs[0]);
  bool includePad = boolAttr(call, "count_include_pad", false);
  return dispatchFloat(call, call.inputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    return closure([=, windows = Windows(p)](Inputs in, Outputs out, void *) {
      using T = Compute<S>;
      parallelFor(threads, p.planes, 1, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane)
          forWindows(windows, [&](const PoolWindow &o) {
            const S *x = static_cast<const S *>(in[0]) + plane * p.inSize();
            T sum = 0;
            int64_t inside = 0;
            int64_t padded = forTaps(p, o, [&](int64_t i) { sum += static_cast<T>(x[i]), ++inside; });
            static_cast<S *>(out[0])[plane * p.outSize() + o.number] =
                static_cast<S>(sum / static_cast<T>(includePad ? padded : inside));
          });
      });
    });
  });
}

Pointer makeAveragePoolGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  PoolShape p = readPool(call, call.outputs[0], call.inputs[0]);
  bool includePad = boolAttr(call, "count_include_pad", false);
  return dispatchFloat(call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    return planeGradient<S>(
        p, threads, 0, [p, includePad, windows = Windows(p)](Inputs in, int64_t plane, auto *sums, char *) {
          using T = Compute<S>;
          const S *dy = static_cast<const S *>(in[0]) + plane * p.outSize();
          forWindows(windows, [&](const PoolWindow &o) {
            int64_t inside = 0;
            int64_t padded = forTaps(p, o, [&](int64_t) { ++inside; });
            T share = static_cast<T>(dy[o.number]) / static_cast<T>(includePad ? padded : inside);
            forTaps(p, o, [&](int64_t i) { sums[i] += share; });
          });
        });
  });
}

} // namespace

KEDGE_REGISTER(AveragePool) {
  registerKernel("onnx.AveragePool", makeAveragePool);
  registerKernel("train.average_pool_grad", makeAveragePoolGrad);
}

} // namespace kedge::rt::cpu
