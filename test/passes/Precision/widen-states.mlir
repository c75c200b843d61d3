// RUN: kedge-opt %s --kedge-widen-states --kedge-insert-casts | FileCheck %s

// A parameter of 16 bits gets a master, a norm's statistics get wide, what is frozen stays; what the file holds is noted.
// CHECK: train.state parameter @w tensor<2xf32> from #train.weight<"m.onnx"[0, + 4]> {tune.stored = bf16}
// CHECK-NEXT: train.state working_copy @w.working tensor<2xbf16> from unit {of = @w}
// CHECK-NEXT: train.state frozen @f tensor<2xbf16>
// CHECK-NEXT: train.state buffer @mean tensor<2xf32> from #train.weight<"m.onnx"[8, + 4]> {tune.stored = bf16}
// CHECK-NEXT: train.state buffer @table tensor<2xbf16>
// CHECK-NEXT: train.state parameter @v tensor<2xf32>
// CHECK: train.batch_norm {{.*}}(tensor<4x2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xbf16>, tensor<2xf32>, tensor<2xf32>,
// CHECK: func.func @restore(%{{.*}}: tensor<2xf32> {train.binding = #train.binding<state @w>}) -> (tensor<2xbf16> {train.binding = #train.binding<state @w.working>})
module {
  train.state parameter @w tensor<2xbf16> from #train.weight<"m.onnx"[0, +4]>
  train.state frozen @f tensor<2xbf16>
  train.state buffer @mean tensor<2xbf16> from #train.weight<"m.onnx"[8, +4]>
  train.state buffer @table tensor<2xbf16>
  train.state parameter @v tensor<2xf32>
  func.func @model(%x: tensor<4x2xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<2xbf16> {train.binding = #train.binding<state @w>},
                   %f: tensor<2xbf16> {train.binding = #train.binding<state @f>}, %mean: tensor<2xbf16> {train.binding = #train.binding<state @mean>},
                   %table: tensor<2xbf16> {train.binding = #train.binding<state @table>}, %v: tensor<2xf32> {train.binding = #train.binding<state @v>})
      -> (tensor<4x2xbf16> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
    %y:5 = train.batch_norm %x, %w, %f, %mean, %v : (tensor<4x2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xf32>) -> (tensor<4x2xbf16>, tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    %z = onnx.Add %y#0, %table : (tensor<4x2xbf16>, tensor<2xbf16>) -> tensor<4x2xbf16>
    return %z : tensor<4x2xbf16>
  }
}
