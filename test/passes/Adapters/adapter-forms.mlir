// RUN: kedge-opt %s --kedge-insert-adapters="weights=in rank=2 alpha=4 magnitude" | FileCheck %s --check-prefix=DORA
// RUN: kedge-opt %s --kedge-insert-adapters="weights=in rank=2 alpha=4 magnitude dropout=0.5" | FileCheck %s --check-prefix=DROPS
// RUN: kedge-opt %s --kedge-insert-adapters="weights=in|table rank=2 rank-pattern=table=3 alpha-pattern=tab=9" | FileCheck %s --check-prefix=TABLE
// RUN: kedge-opt %s --kedge-insert-adapters="weights=in rank=2 init=pissa" | FileCheck %s --check-prefix=PISSA
// RUN: not kedge-opt %s --kedge-insert-adapters="weights=table magnitude rank=2" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not kedge-opt %s --kedge-insert-adapters="weights=table dropout=0.5" 2>&1 | FileCheck %s --check-prefix=DROPOUT
// RUN: not kedge-opt %s --kedge-insert-adapters="weights=in rank-pattern=in=1.5" 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not kedge-opt %s --kedge-insert-adapters="weights=in init=olora rank=2" --kedge-quantize-weights=weights=in=nf4 2>&1 | FileCheck %s --check-prefix=BITS
// FORM: --lora-dora: 'table' is no matrix of a product
// DROPOUT: 'table' is a table of embeddings, whose adapters have no dropout
// WHOLE: --lora-rank-pattern in=1.5: expected a whole number
// BITS: keeps what --lora-init pissa or olora leaves of it

// The norms count as a constant; the bias stays out of what they scale.
// DORA: parameter @in.lora_magnitude_vector tensor<6xf32> from unit {{.*}}tune.adapter<magnitude of @in.weight
// DORA: %[[W:.*]] = onnx.Transpose %[[IN:.*]] {perm
// DORA: %[[SUM:.*]] = onnx.Gemm %{{.*}}, %{{.*}}, %[[W]] {alpha = 2.0{{.*}} : (tensor<6x2xf32>, tensor<2x4xf32>, tensor<6x4xf32>)
// DORA: onnx.ReduceSumSquare %[[SUM]]
// DORA: %[[NORM:.*]] = onnx.Identity %{{.*}} {stops_gradient}
// DORA: %[[FACTOR:.*]] = onnx.Div %{{.*}}, %[[NORM]]
// DORA: onnx.Gemm
// DORA: %[[LAST:.*]] = onnx.Gemm {{.*}}alpha = 2.0
// DORA: %[[Y:.*]] = onnx.Mul %[[FACTOR]], %[[LAST]]
// DORA: onnx.Add %[[Y]]

// DROPS: onnx.Dropout
// DROPS: onnx.Sub

// TABLE: @table.lora_embedding_A tensor<3x9xf32> from unit {{.*}}embedding_A of @table scale 3.0
// TABLE: @table.lora_embedding_B tensor<4x3xf32> from #tune.random<normal 1.0
// TABLE: %[[ROWS:.*]] = onnx.Transpose
// TABLE: onnx.Gather %[[ROWS]]

// PISSA: @in.lora_A.weight tensor<2x4xf32> from unit
// PISSA: tune.adapter<B of @in.weight {{.*}} from pissa>
train.state frozen @table tensor<9x4xf32> {onnx_name = "table"}
train.state frozen @in.weight tensor<4x6xf32> {onnx_name = "in.weight"}
train.state frozen @in.bias tensor<6xf32> {onnx_name = "in.bias"}
func.func @model(%ids: tensor<3xi64>, %t: tensor<9x4xf32> {train.binding = #train.binding<state @table>},
                 %w: tensor<4x6xf32> {train.binding = #train.binding<state @in.weight>},
                 %c: tensor<6xf32> {train.binding = #train.binding<state @in.bias>}) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
  %x = onnx.Gather %t, %ids {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %y = onnx.Gemm %x, %w, %c : (tensor<3x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}
