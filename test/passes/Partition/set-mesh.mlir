// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=4,replica=2 --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=1,data=3 | FileCheck %s --check-prefix=DATA
// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=1 | FileCheck %s --check-prefix=ALONE
// RUN: kedge-opt %s --kedge-set-mesh | FileCheck %s --check-prefix=ALONE
// RUN: not kedge-opt %s --kedge-set-mesh=mesh=rows=2 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not kedge-opt %s --kedge-set-mesh=mesh=data=2,data=2 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not kedge-opt %s --kedge-set-mesh=mesh=data=0 2>&1 | FileCheck %s --check-prefix=SIZE

// RUN: kedge-opt %s --kedge-set-mesh="mesh=replica=2,data=2 parts=8" | FileCheck %s --check-prefix=PARTS
// RUN: kedge-opt %s --kedge-set-mesh=parts=2 | FileCheck %s --check-prefix=HALVES
// RUN: not kedge-opt %s --kedge-set-mesh="mesh=data=3 parts=4" 2>&1 | FileCheck %s --check-prefix=UNEVEN

// PARTS: dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>, dist.parts = 8 : i64
// HALVES: module attributes {dist.parts = 2 : i64}
// UNEVEN: error: mesh data=3: sums over 4 parts: expected a power of two that 3 ranks with rows of their own divide
// In the order that numbers ranks, without axes of one.
// CHECK: dist.mesh = #dist.mesh<["replica", "data"] = [2, 4]>
// STATISTICS: 8 kedge-set-mesh ranks
// DATA: dist.mesh = #dist.mesh<["data"] = [3]>
// ALONE-NOT: dist.mesh
// AXIS: for the --mesh option: 'rows' is no axis of a mesh; the axes are pipeline, replica, data, expert, context, tensor
// TWICE: for the --mesh option: axis 'data' is named twice; name each axis once
// SIZE: for the --mesh option: 'data=0': expected data=N with a number of ranks from 1 to 1048576
train.state parameter @w tensor<3xf32>
