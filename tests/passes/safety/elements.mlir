// RUN: tileopt %s -p elide-bounds,verify-ownership --split-input-file | filecheck %s

// Everything is inside: out by the branch, and the other array in each launch that fulfils what is required.
// CHECK-LABEL: simt.kernel @scale
// CHECK-SAME: tile.ownership = ["out[256*bid(0) + thread_idx(0)]: axis 0 gives bid(0); axis 0 gives thread_idx(0)"]
// CHECK: simt.element_load %x[%i] {bounds = #tile.bounds<launch [] "256*bid(0) + thread_idx(0) < x.shape[0] where the contract holds">}
// CHECK: simt.element_store %v, %out[%i] {witness, bounds = #tile.bounds<proved []
simt.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 256, 1, 1>, simt.requires = ["len(x) >= len(out)"]} {
  %c = arith.constant 256 : i64
  %b = simt.block_id {axis = 0}
  %o = arith.muli %b, %c : i64
  %t = simt.thread_idx {axis = 0}
  %i = arith.addi %o, %t : i64
  %n = simt.dim %out {axis = 0} : !tile.view<?xf32, owned>
  %in = arith.cmpi slt, %i, %n : i64
  scf.if %in {
    %v = simt.element_load %x[%i] : !tile.view<?xf32, shared> -> f32
    simt.element_store %v, %out[%i] {witness} : f32, !tile.view<?xf32, owned>
  }
  simt.return
}

// -----

// row * k + i < len(a) from len(a) >= m * k, row < m and i < k.
// CHECK-LABEL: simt.kernel @rows
// CHECK: simt.element_load %a[%at] {bounds = #tile.bounds<launch []
simt.kernel @rows(%a: !tile.view<?xf32, shared> {tile.name = "a", tile.contract = #tile.contract<align = 16, unit = 0, shape = [1], stride = [1], small>}, %m: i32 {tile.name = "m"}, %k: i32 {tile.name = "k"}) attributes {simt.block = array<i64: 64, 1, 1>, simt.requires = ["len(a) >= m * k"]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %mw = arith.extsi %m : i32 to i64
  %kw = arith.extsi %k : i32 to i64
  %row = simt.block_id {axis = 0}
  %in = arith.cmpi slt, %row, %mw : i64
  scf.if %in {
    scf.for %i = %c0 to %kw step %c1 : i64 {
      %start = arith.muli %row, %kw : i64
      %at = arith.addi %start, %i : i64
      %v = simt.element_load %a[%at] : !tile.view<?xf32, shared> -> f32
    }
  }
  simt.return
}

// -----

// What is not known is tested. Behind a test it is known; before it, it is not.
// CHECK-LABEL: simt.kernel @tested
// CHECK: simt.element_load %x[%n] {bounds = #tile.bounds<checked [0] "n may be negative along axis 0 of x">}
// CHECK: simt.check_index %n below %d {array = "x", bounds = #tile.bounds<checked [0] "n may be negative along axis 0 of x">}
// CHECK: simt.element_load %x[%n] {bounds = #tile.bounds<proved [] "n < x.shape[0]">}
// CHECK: simt.check_index %n below %d {array = "x", bounds = #tile.bounds<proved [] "n < x.shape[0]">}
simt.kernel @tested(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %n: i64 {tile.name = "n"}) attributes {simt.block = array<i64: 32, 1, 1>} {
  %d = simt.dim %x {axis = 0} : !tile.view<?xf32, shared>
  %v = simt.element_load %x[%n] : !tile.view<?xf32, shared> -> f32
  simt.check_index %n below %d {array = "x"}
  %w = simt.element_load %x[%n] : !tile.view<?xf32, shared> -> f32
  simt.check_index %n below %d {array = "x"}
  simt.return
}

// -----

// The relation is about the unsigned number, which the index is not.
// CHECK-LABEL: simt.kernel @unsigned
// CHECK: simt.element_load %x[%n] {bounds = #tile.bounds<checked [0]
simt.kernel @unsigned(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %n: i64 {tile.name = "n", tile.unsigned}) attributes {simt.block = array<i64: 32, 1, 1>, simt.requires = ["n < len(x)", "0 <= n"]} {
  %v = simt.element_load %x[%n] : !tile.view<?xf32, shared> -> f32
  simt.return
}

// -----

// Shared memory has static extents.
// CHECK-LABEL: simt.kernel @shared
// CHECK: simt.element_store %z, %s[%t, %c3] {bounds = #tile.bounds<proved []
// CHECK: simt.element_store %z, %s[%t, %t] {bounds = #tile.bounds<checked [1] "thread_idx(0) is not known to be below 4">}
simt.kernel @shared() attributes {simt.block = array<i64: 32, 1, 1>} {
  %s = simt.alloc_shared : !tile.buffer<32x4xf32>
  %t = simt.thread_idx {axis = 0}
  %c3 = arith.constant 3 : i64
  %z = arith.constant 0.0 : f32
  simt.element_store %z, %s[%t, %c3] : f32, !tile.buffer<32x4xf32>
  simt.element_store %z, %s[%t, %t] : f32, !tile.buffer<32x4xf32>
  simt.return
}

// -----

// A grid-stride loop, a thread of each warp, and one thread of all.
// CHECK-LABEL: simt.kernel @owners
// CHECK-SAME: tile.ownership = [
simt.kernel @owners(%a: !tile.view<?xf32, owned>, %w: !tile.view<?xf32, owned>, %one: !tile.view<?xf32, owned>) attributes {simt.block = array<i64: 64, 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %z = arith.constant 0.0 : f32
  %b = simt.block_id {axis = 0}
  %g = simt.grid_dim {axis = 0}
  %t = simt.thread_idx {axis = 0}
  %o = arith.muli %b, %c64 : i64
  %i = arith.addi %o, %t : i64
  %n = simt.dim %a {axis = 0} : !tile.view<?xf32, owned>
  %step = arith.muli %g, %c64 : i64
  scf.for %j = %i to %n step %step : i64 {
    simt.element_store %z, %a[%j] : f32, !tile.view<?xf32, owned>
  }
  %lane = arith.remsi %t, %c32 : i64
  %warp = arith.divsi %t, %c32 : i64
  %first = arith.cmpi eq, %lane, %c0 : i64
  scf.if %first {
    %bw = arith.muli %b, %c2 : i64
    %at = arith.addi %bw, %warp : i64
    simt.element_store %z, %w[%at] : f32, !tile.view<?xf32, owned>
  }
  %only = arith.cmpi eq, %i, %c0 : i64
  scf.if %only {
    simt.element_store %z, %one[%c0] : f32, !tile.view<?xf32, owned>
  }
  simt.return
}

// -----

// The author asked for no tests: what is proved is so all the same.
// CHECK-LABEL: simt.kernel @unchecked
// CHECK: simt.element_load %x[%n] {bounds = #tile.bounds<unchecked [0] "n may be negative along axis 0 of x">}
// CHECK: simt.element_load %x[%c3] {bounds = #tile.bounds<proved []
simt.kernel @unchecked(%x: !tile.view<8xf32, shared> {tile.name = "x"}, %n: i64 {tile.name = "n"}) attributes {simt.block = array<i64: 32, 1, 1>, simt.checks = "unchecked"} {
  %c3 = arith.constant 3 : i64
  %v = simt.element_load %x[%n] : !tile.view<8xf32, shared> -> f32
  %w = simt.element_load %x[%c3] : !tile.view<8xf32, shared> -> f32
  simt.return
}

// -----

// What needs no contract is proved also where there is one, and what the contract does not help with is tested.
// CHECK-LABEL: simt.kernel @mixed
// CHECK-SAME: simt.requires = ["n < len(x)", "n >= 0"]
// CHECK: simt.element_load %x[%n] {bounds = #tile.bounds<launch [] "n < x.shape[0] where the contract holds">}
// CHECK: simt.element_load %x[%t] {bounds = #tile.bounds<checked [0]
// CHECK: simt.element_load %y[%t] {bounds = #tile.bounds<proved [] "thread_idx(0) < 32">}
// CHECK: simt.check_index %n below %d {array = "x", bounds = #tile.bounds<launch [] "n < x.shape[0] where the contract holds">}
simt.kernel @mixed(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %y: !tile.view<32xf32, shared> {tile.name = "y"}, %n: i64 {tile.name = "n"}) attributes {simt.block = array<i64: 32, 1, 1>, simt.requires = ["n < len(x)", "n >= 0"]} {
  %t = simt.thread_idx {axis = 0}
  %a = simt.element_load %x[%n] : !tile.view<?xf32, shared> -> f32
  %b = simt.element_load %x[%t] : !tile.view<?xf32, shared> -> f32
  %c = simt.element_load %y[%t] : !tile.view<32xf32, shared> -> f32
  %d = simt.dim %x {axis = 0} : !tile.view<?xf32, shared>
  simt.check_index %n below %d {array = "x"}
  simt.return
}
