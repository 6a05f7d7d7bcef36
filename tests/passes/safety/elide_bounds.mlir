// RUN: tileopt %s -p infer-facts,elide-bounds --target cpu --split-input-file | filecheck %s

// Nothing ties the grid to the array: a uniform test is left.
// CHECK-LABEL: tile.kernel @vector_add
// CHECK: tile.load %x[%o] {{.*}}bounds = #tile.bounds<hoisted [0] "x.shape[0] is not known to be a multiple of 1024">
tile.kernel @vector_add(%x: !tile.view<?xf32, shared> {tile.name = "x"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 1024 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<1024xf32>
  tile.return
}

// -----

// A loop to the number of whole tiles, rounded up where the extent is a multiple of the tile.
// CHECK-LABEL: tile.kernel @loop_over_k
// CHECK: tile.load %a[%c0, %o] {{.*}}bounds = #tile.bounds<proved [] "0..15 lies in 0..63; 64*k + 64 <= a.shape[1]">
tile.kernel @loop_over_k(%a: !tile.view<64x?xf32, shared> {tile.name = "a", tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 64], stride = [16, 1]>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c63 = arith.constant 63 : i64
  %c = arith.constant 64 : i64
  %K = tile.dim %a {axis = 1} : !tile.view<64x?xf32, shared>
  %up = arith.addi %K, %c63 : i64
  %n = arith.divsi %up, %c : i64
  scf.for %k = %c0 to %n step %c1 : i64 {
    %o = arith.muli %k, %c : i64
    %t = tile.load %a[%c0, %o] : !tile.view<64x?xf32, shared> -> tensor<16x64xf32>
  }
  tile.return
}

// -----

// The same where the extent is only known to be a multiple of 16.
// CHECK-LABEL: tile.kernel @ragged_k
// vector = 4: the offset and the extent are multiples of 4 elements, and the base of 16 bytes.
// CHECK: vector = 4{{.*}}#tile.bounds<hoisted [0] "a.shape[0] is not known to be a multiple of 64">
tile.kernel @ragged_k(%a: !tile.view<?xf32, shared> {tile.name = "a", tile.contract = #tile.contract<align = 16, unit = 0, shape = [16], stride = [1]>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c63 = arith.constant 63 : i64
  %c = arith.constant 64 : i64
  %K = tile.dim %a {axis = 0} : !tile.view<?xf32, shared>
  %up = arith.addi %K, %c63 : i64
  %n = arith.divsi %up, %c : i64
  scf.for %k = %c0 to %n step %c1 : i64 {
    %o = arith.muli %k, %c : i64
    %t = tile.load %a[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  }
  tile.return
}

// -----

// A step of the tile's extent, as `range(0, K, 64)` gives.
// CHECK-LABEL: tile.kernel @loop_by_step
// CHECK: #tile.bounds<proved []
tile.kernel @loop_by_step(%a: !tile.view<?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 0, shape = [64], stride = [1]>}) {
  %c0 = arith.constant 0 : i64
  %c = arith.constant 64 : i64
  %K = tile.dim %a {axis = 0} : !tile.view<?xf32, shared>
  scf.for %o = %c0 to %K step %c : i64 {
    %t = tile.load %a[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  }
  tile.return
}

// -----

// A test by hand, before and in the branch.
// CHECK-LABEL: tile.kernel @guarded
// CHECK: scf.if
// CHECK-NEXT: {{.*}}#tile.bounds<proved []
// CHECK: else
// CHECK-NEXT: {{.*}}#tile.bounds<masked [0]
tile.kernel @guarded(%x: !tile.view<?xf32, shared>) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 100 : i64
  %n = tile.dim %x {axis = 0} : !tile.view<?xf32, shared>
  %o = arith.muli %b, %c : i64
  %end = arith.addi %o, %c : i64
  %fits = arith.cmpi sle, %end, %n : i64
  scf.if %fits {
    %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<100xf32>
  } else {
    %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<100xf32>
  }
  tile.return
}

// -----

// Always partly outside: longer than the array, or before its start.
// CHECK-LABEL: tile.kernel @partial
// CHECK: #tile.bounds<masked [0]
// CHECK: #tile.bounds<masked [0]
// CHECK: #tile.bounds<hoisted [0] "bid(0) - 1 may be negative along axis 0 of x">
tile.kernel @partial(%x: !tile.view<16xf32, shared> {tile.name = "x"}) {
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %m = arith.subi %c0, %c1 : i64
  %p = arith.subi %b, %c1 : i64
  %t = tile.load %x[%c0] : !tile.view<16xf32, shared> -> tensor<32xf32>
  %u = tile.load %x[%m] : !tile.view<16xf32, shared> -> tensor<8xf32>
  %v = tile.load %x[%p] : !tile.view<16xf32, shared> -> tensor<8xf32>
  tile.return
}

// -----

// A persistent loop over all tiles of an array whose extents are multiples of them.
// CHECK-LABEL: tile.kernel @persistent
// CHECK: tile.load %x[%i, %j] {{.*}}bounds = #tile.bounds<proved []
tile.kernel @persistent(%x: !tile.view<?x?xf32, shared> {tile.name = "x", tile.contract = #tile.contract<align = 16, unit = 1, shape = [64, 64], stride = [16, 1], small>}) {
  %b = tile.bid {axis = 0}
  %nb = tile.num_blocks {axis = 0}
  %c1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : i64
  %c = arith.constant 64 : i64
  %M = tile.dim %x {axis = 0} : !tile.view<?x?xf32, shared>
  %N = tile.dim %x {axis = 1} : !tile.view<?x?xf32, shared>
  %tm = arith.divsi %M, %c : i64
  %tn = arith.divsi %N, %c : i64
  %is0 = arith.cmpi eq, %tn, %c0 : i64
  %safe = arith.select %is0, %c1, %tn : i64
  %n = arith.muli %tm, %tn : i64
  scf.for %t = %b to %n step %nb : i64 {
    %r = arith.divsi %t, %safe : i64
    %q = arith.select %is0, %c0, %r : i64
    %s = arith.remsi %t, %safe : i64
    %i = arith.muli %q, %c : i64
    %j = arith.muli %s, %c : i64
    %z = tile.load %x[%i, %j] : !tile.view<?x?xf32, shared> -> tensor<64x64xf32>
  }
  tile.return
}
