// RUN: kedge-opt %s --kedge-check-collectives --split-input-file --verify-diagnostics
// Ranks with programs of their own, on meshes of two axes: ranks 0 to 3 are (replica 0, data 0), (0, 1), (1, 0), (1, 1).

// Good: all alike; equal programs are one, for several ranks.
module {
  module @even attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>, dist.ranks = array<i64: 0, 2>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 4 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @odd attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>, dist.ranks = array<i64: 1, 3>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 4 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// Good: ranks that share no group go their own ways.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 1. Two groups in different orders: a circle of four.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{in @step the ranks wait for each other for ever: @r0 in dist.all_reduce along data for @r1, @r1 in dist.all_reduce along replica for @r3, @r3 in dist.all_reduce along data for @r2, @r2 in dist.all_reduce along replica for @r0}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{@r1 waits here}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{@r2 waits here}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{@r3 waits here}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 2. The whole mesh before an axis, and behind it.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{in @step the ranks wait for each other for ever: @r0 in dist.all_reduce along data for @r1, @r1 in dist.all_reduce along replica,data for @r0}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 4 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{@r1 waits here}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 4 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 4 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 4 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 3. One fewer along an axis.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      // expected-error @+1 {{collective 1 along data of @step on @r2 is dist.all_reduce {axis = "data", kind = "sum", ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>), on @r3 it is none: the ranks would wait for each other}}
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 4. Another size.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{collective 0 along data of @step on @r0 is dist.all_reduce {axis = "data", kind = "sum", ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>), on @r1 it is dist.all_reduce {axis = "data", kind = "sum", ranks = 2 : i64} (tensor<2xf32>, tensor<2xf32>): the ranks would wait for each other}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%b: tensor<2xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{the other one is here}}
      %0 = sched.library "dist.all_reduce"(%b) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<2xf32>) -> tensor<2xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 5. Another type of as many bytes.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{collective 0 along replica of @step on @r1 is dist.all_reduce {axis = "replica", kind = "sum", ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>), on @r3 it is dist.all_reduce {axis = "replica", kind = "sum", ranks = 2 : i64} (tensor<4xf16>, tensor<4xf16>): the ranks would wait for each other}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{the other one is here}}
      %0 = sched.library "dist.all_reduce"(%h) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf16>) -> tensor<4xf16>
      return
    }
  }
}

// -----

// 6. A maximum where others sum.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{collective 0 along replica of @step on @r0 is dist.all_reduce {axis = "replica", kind = "sum", ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>), on @r2 it is dist.all_reduce {axis = "replica", kind = "max", ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>): the ranks would wait for each other}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{the other one is here}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "max", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 7. Within one group the other way round.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{collective 0 along data of @step on @r0 is dist.reduce_scatter {axis = "data", ranks = 2 : i64} (tensor<4xf32>, tensor<2xf32>), on @r1 it is dist.all_reduce {axis = "data", kind = "sum", ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>): the ranks would wait for each other}}
      %0 = sched.library "dist.reduce_scatter"(%a) {axis = "data", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<2xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{the other one is here}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.library "dist.reduce_scatter"(%a) {axis = "data", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<2xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.reduce_scatter"(%a) {axis = "data", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<2xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.reduce_scatter"(%a) {axis = "data", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<2xf32>
      %1 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 8. A send that nobody receives.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{collective 0 along data of @step on @r0 is dist.send_recv {axis = "data", from = array<i64: -1, 0>, ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>), on @r1 it is dist.send_recv {axis = "data", from = array<i64: -1, -1>, ranks = 2 : i64} (tensor<4xf32>, tensor<4xf32>): a send that nobody receives}}
      %0 = sched.library "dist.send_recv"(%a) {axis = "data", from = array<i64: -1, 0>, ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-note @+1 {{the other one is here}}
      %0 = sched.library "dist.send_recv"(%a) {axis = "data", from = array<i64: -1, -1>, ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.send_recv"(%a) {axis = "data", from = array<i64: -1, 0>, ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.send_recv"(%a) {axis = "data", from = array<i64: -1, 0>, ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 9. An axis that the mesh lacks.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{(dist.all_reduce) is over 2 ranks along 'tensor', the module's mesh has 0}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "tensor", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "tensor", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "tensor", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "tensor", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 10. A group of one axis for that of both.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      // expected-error @+1 {{(dist.all_reduce) is over 2 ranks along 'replica,data', the module's mesh has 4}}
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r3 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica,data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 11. A rank without a program.
module { // expected-error {{rank 3 of 4 has no program: expected one for each rank of the mesh}}
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r2 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 12. A rank with two.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  module @r1 attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  // expected-error @+1 {{is the program of rank 1: expected one that has none, of 4 ranks}}
  module @again attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>, dist.ranks = array<i64: 3, 1>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}

// -----

// 13. Two meshes.
module {
  module @r0 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "data", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
  // expected-error @+1 {{is of the mesh #dist.mesh<["replica"] = [2]>, the first rank's is #dist.mesh<["data"] = [2]>: expected one mesh}}
  module @r1 attributes {dist.mesh = #dist.mesh<["replica"] = [2]>} {
    func.func @step(%a: tensor<4xf32>, %h: tensor<4xf16>) {
      %0 = sched.library "dist.all_reduce"(%a) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
  }
}
