#ifndef KEDGE_TUNE_DIALECT
#define KEDGE_TUNE_DIALECT
include "mlir/IR/OpBase.td"

def Tune_Dialect : Dialect {
  let name = "tune";
  let cppNamespace = "::kedge::tune";
  let summary = "Attributes of states for fine-tuning";
  let description = [{
    Attributes of a `train.state`: `tune.adapter` (a #tune.adapter: it is a factor of a low-rank adapter), `tune.encoding` (a
    #tune.encoding: it is part of a frozen weight in few bits), `tune.orthogonal` (a unit: Muon updates it; an i64: NorMuon does, whose neurons are along this dimension), `tune.decay_scale` (an f64: its
    weight decay is multiplied by it), `tune.stored` (the element type of its values in their file, if it differs from the state's). `#tune.random` is a first value.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}
#endif
