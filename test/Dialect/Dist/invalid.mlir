// RUN: kedge-opt %s --split-input-file --verify-diagnostics

func.func @shard(%a: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{takes 'tensor<3xf32>' for a part of 'tensor<3xf32>' over 2 ranks, expected 'tensor<2xf32>'}}
  %0 = dist.reduce_scatter %a {ranks = 2 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @counts(%a: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 1 operands and 2 results: expected as many, and at least one}}
  %0, %1 = dist.all_gather %a {ranks = 2 : i64} : (tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0 : tensor<4xf32>
}

// -----

func.func @kind(%a: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{attribute 'kind' failed to satisfy constraint: one of sum, max}}
  %0 = dist.all_reduce %a {kind = "mean", ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @order(%a: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{attribute 'order' failed to satisfy constraint: one of tree}}
  %0 = dist.all_reduce %a {kind = "sum", order = "ring", ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @type(%a: tensor<f32>) -> tensor<f64> {
  // expected-error @+1 {{gives 'tensor<f64>' for 'tensor<f32>', expected the same type}}
  %0 = dist.all_reduce %a {kind = "sum", ranks = 2 : i64} : (tensor<f32>) -> tensor<f64>
  return %0 : tensor<f64>
}

// -----

func.func @root(%a: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{sends from rank 2 of 2, expected one of them}}
  %0 = dist.broadcast %a {root = 2 : i64, ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

module attributes {dist.mesh = #dist.mesh<["data"] = [4]>} {
  func.func @mesh(%a: tensor<f32>) -> tensor<f32> {
    // expected-error @+1 {{is over 2 ranks along 'data', where the module's mesh has 4}}
    %0 = dist.all_reduce %a {kind = "sum", ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 4]>} {
  func.func @axes(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = dist.all_reduce %a {axis = "replica,data", kind = "sum", ranks = 8 : i64} : (tensor<f32>) -> tensor<f32>
    // expected-error @+1 {{is over 2 ranks along 'tensor', where the module's mesh has 0}}
    %1 = dist.all_reduce %a {axis = "tensor", kind = "sum", ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

func.func @receivers(%a: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{says for 3 ranks from whom they receive, expected 2}}
  %0 = dist.send_recv %a {from = array<i64: 1, 0, 2>, ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @sender(%a: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{has rank 1 receive from rank 2 of 2, expected one of them, or -1 for none}}
  %0 = dist.send_recv %a {from = array<i64: 1, 2>, ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{'dist.mesh' should be a #dist.mesh, on a module, found 4 : i64}}
module attributes {dist.mesh = 4 : i64} {}

// -----

// expected-error @+1 {{a mesh of 2 axes has 1 sizes, expected one an axis}}
module attributes {dist.mesh = #dist.mesh<["data", "tensor"] = [4]>} {}

// -----

// expected-error @+1 {{axis "data" of a mesh has 0 ranks, expected 1 or more and each name once}}
module attributes {dist.mesh = #dist.mesh<["data"] = [0]>} {}

// -----

// expected-error @+1 {{a shard over 0 ranks along "data": expected 1 or more ranks and sizes that are not negative}}
train.state moment1 @m tensor<2xf32> {sharding = #dist.sharding<[3] over "data" = 0>}

// -----

// expected-error @+1 {{is of type 'tensor<3xf32>', but a part of 'tensor<3xf32>' by #dist.sharding<[3] over "data" = 2> is of type 'tensor<2xf32>'}}
train.state moment1 @m tensor<3xf32> {sharding = #dist.sharding<[3] over "data" = 2>}

// -----

// expected-error @+1 {{is of type 'tensor<48x71xf32>', but a part of 'tensor<48x144xf32>' by #dist.sharding<[48, 144] cut[<1 over "tensor" = 2>]> is of type 'tensor<48x72xf32>'}}
train.state moment1 @m tensor<48x71xf32> {sharding = #dist.sharding<[48, 144] cut [<1 over "tensor" = 2>]>}

// -----

// expected-error @+1 {{sections of 96 elements in dimension 1, which has 144: expected as many}}
train.state moment1 @m tensor<48x72xf32> {sharding = #dist.sharding<[48, 144] cut [<1 over "tensor" = 2 sections [48, 48]>]>}

// -----

// expected-error @+1 {{a cut of dimension 2 of a tensor of 2 dimensions, 1 of them of this one or along its axis: expected one of each}}
train.state moment1 @m tensor<48x72xf32> {sharding = #dist.sharding<[48, 144] cut [<2 over "tensor" = 2>]>}

// -----

// expected-error @+2 {{failed to parse Dist_ShardingAttr parameter 'cuts'}}
// expected-error @+1 {{a cut of dimension 0 over 2 ranks along "tensor" in units of 0: expected a dimension from 0 and ranks, sections and a unit from 1}}
train.state moment1 @m tensor<24x144xf32> {sharding = #dist.sharding<[48, 144] cut [<0 over "tensor" = 2 unit 0>]>}

// -----

// expected-error @+1 {{box of "data" that is cut over "data" once more: expected two axes}}
train.state moment1 @m tensor<1728xf32> {sharding = #dist.sharding<[48, 144] cut [<0 over "data" = 2>] over "data" = 2>}

// -----

// expected-error @+1 {{a shard that nothing cuts: expected cuts of dimensions, an axis, or stages}}
train.state moment1 @m tensor<3xf32> {sharding = #dist.sharding<[3]>}

// -----

// expected-error @+1 {{a shard on stages that do not rise from 0, or seen from stage 0: expected stages from 0 in their order}}
train.state moment1 @m tensor<3xf32> {sharding = #dist.sharding<[3] on [1, 0] from 0>}

// -----

// expected-error @+1 {{a slot forward of micro-batch 0 on stage 1 from 2.000000e+00 : f64 to 1.000000e+00 : f64: expected numbers from 0 and an end after the begin}}
module attributes {dist.timetable = #dist.timetable<"1f1b" seconds [1.0] modules [] slots [<forward of 0 stage 1, 2.0 to 1.0>]>} {
}
