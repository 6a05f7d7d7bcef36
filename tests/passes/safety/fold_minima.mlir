// RUN: tileopt %s -p fold-minima,elide-bounds --split-input-file | filecheck %s

// The contract says which is the shorter, whichever stands first; a maximum is the longer.
// CHECK-LABEL: simt.kernel @known
// CHECK-NOT: minsi
// CHECK-NOT: maxsi
// CHECK: scf.for %i = %{{.*}} to %n step
// CHECK: scf.for %j = %{{.*}} to %n step
// CHECK: scf.for %k = %{{.*}} to %m step
// CHECK: simt.element_load %{{.*}}[%k] {bounds = #tile.bounds<proved []
simt.kernel @known(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %y: !tile.view<?xf32, shared> {tile.name = "y"}) attributes {simt.block = array<i64: 32, 1, 1>, simt.requires = ["len(y) >= len(x)"]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = simt.dim %x {axis = 0} : !tile.view<?xf32, shared>
  %m = simt.dim %y {axis = 0} : !tile.view<?xf32, shared>
  %a = arith.minsi %n, %m : i64
  scf.for %i = %c0 to %a step %c1 : i64 {
    %v = simt.element_load %x[%i] : !tile.view<?xf32, shared> -> f32
  }
  %b = arith.minsi %m, %n : i64
  scf.for %j = %c0 to %b step %c1 : i64 {
    %v = simt.element_load %y[%j] : !tile.view<?xf32, shared> -> f32
  }
  %c = arith.maxsi %n, %m : i64
  scf.for %k = %c0 to %c step %c1 : i64 {
    %v = simt.element_load %y[%k] : !tile.view<?xf32, shared> -> f32
  }
  simt.return
}

// -----

// Where nothing is known the launch's extents decide; the guards say what they would have to be.
// CHECK-LABEL: simt.kernel @unknown
// CHECK-SAME: simt.guards = ["len(y) >= len(x)", "len(x) >= 32"]
// CHECK: arith.minsi %n, %m
simt.kernel @unknown(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %y: !tile.view<?xf32, shared> {tile.name = "y"}) attributes {simt.block = array<i64: 32, 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = simt.dim %x {axis = 0} : !tile.view<?xf32, shared>
  %m = simt.dim %y {axis = 0} : !tile.view<?xf32, shared>
  %a = arith.minsi %n, %m : i64
  scf.for %i = %c0 to %a step %c1 : i64 {
    %v = simt.element_load %x[%i] : !tile.view<?xf32, shared> -> f32
  }
  %t = simt.thread_idx {axis = 0}
  %w = simt.element_load %x[%t] : !tile.view<?xf32, shared> -> f32
  simt.return
}

// -----

// A minimum of unsigned numbers is that of the signed ones only where neither is negative; what a scalar is no guard
// can say, since it is known at the launch alone.
// CHECK-LABEL: simt.kernel @unsigned
// CHECK-NOT: simt.guards
// CHECK: arith.minui %n, %s
// CHECK: arith.minui %n, %q
simt.kernel @unsigned(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %s: i64 {tile.name = "s"}) attributes {simt.block = array<i64: 32, 1, 1>, simt.requires = ["s < 0"]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = simt.dim %x {axis = 0} : !tile.view<?xf32, shared>
  %a = arith.minui %n, %s : i64
  scf.for %i = %c0 to %a step %c1 : i64 {
    %v = simt.element_load %x[%i] : !tile.view<?xf32, shared> -> f32
  }
  %q = arith.addi %s, %c1 : i64
  %b = arith.minui %n, %q : i64
  scf.for %j = %c0 to %b step %c1 : i64 {
    %v = simt.element_load %x[%j] : !tile.view<?xf32, shared> -> f32
  }
  simt.return
}
