// RUN: kedge-opt %s --kedge-partition-states="stage=1" --canonicalize | FileCheck %s
// A rank's box is cut into flat parts over data, and what is known of the box stays known.
// CHECK: train.state parameter @w tensor<2x2xf32> {sharding = #dist.sharding<[2, 4] cut[<1 over "tensor" = 2>]>}
// CHECK: train.state momentum @m tensor<2xf32> from unit {of = @w, sharding = #dist.sharding<[2, 4] cut[<1 over "tensor" = 2>] over "data" = 2>}
// CHECK: train.state parameter @qkv tensor<2x8xf32> {sharding = #dist.sharding<[2, 12] cut[<1 over "tensor" = 2 sections[4, 6, 2] unit 2>]>}
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x2xf32>
// CHECK: %[[OWN:.*]] = dist.local_shard %[[W]] {{.*}} : (tensor<2x2xf32>) -> tensor<2xf32>
// CHECK: %[[NEW:.*]], %[[BUF:.*]] = train.momentum %[[OWN]]
// CHECK: %[[BOX:.*]] = dist.all_gather %[[NEW]] {{.*}} : (tensor<2xf32>) -> tensor<2x2xf32>
// CHECK: return %[[BOX]], %[[BUF]]
module attributes {dist.mesh = #dist.mesh<["data", "tensor"] = [2, 2]>} {
  train.state parameter @w tensor<2x2xf32> {sharding = #dist.sharding<[2, 4] cut [<1 over "tensor" = 2>]>}
  train.state momentum @m tensor<2x2xf32> from unit {of = @w, sharding = #dist.sharding<[2, 4] cut [<1 over "tensor" = 2>]>}
  train.state parameter @qkv tensor<2x8xf32> {sharding = #dist.sharding<[2, 12] cut [<1 over "tensor" = 2 sections [4, 6, 2] unit 2>]>}
  func.func @step(%w: tensor<2x2xf32> {train.binding = #train.binding<state @w>}, %m: tensor<2x2xf32> {train.binding = #train.binding<state @m>},
                  %g: tensor<2x2xf32> {train.binding = #train.binding<input "g">}, %s: tensor<f32> {train.binding = #train.binding<scalar "lr">})
      -> (tensor<2x2xf32> {train.binding = #train.binding<state @w>}, tensor<2x2xf32> {train.binding = #train.binding<state @m>})
      attributes {train.kind = #train.kind<step>} {
    %new, %buf = train.momentum %w, %m, %g, %s, %s, %s, %s {decay = true, lr_scale = 1.0 : f64, nesterov = false}
        : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
    return %new, %buf : tensor<2x2xf32>, tensor<2x2xf32>
  }
}
