// RUN: tileopt %s -p verify-ownership --split-input-file | filecheck %s

// One block a tile.
// CHECK: tile.kernel @one_axis
// CHECK-SAME: tile.ownership = ["out[64*bid(0)]: axis 0 gives bid(0)"]
// CHECK-SAME: tile.unused_axes = array<i64: 1, 2>
tile.kernel @one_axis(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// Gaps between the tiles, and a constant offset.
// CHECK: tile.kernel @gaps
tile.kernel @gaps(%out: !tile.view<?xf32, owned>) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 100 : i64
  %o = arith.muli %b, %c : i64
  %p = arith.addi %o, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  tile.store %z, %out[%p] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// Axes swapped.
// CHECK: tile.kernel @swapped
tile.kernel @swapped(%out: !tile.view<?x?xf32, owned>) {
  %b0 = tile.bid {axis = 0}
  %b1 = tile.bid {axis = 1}
  %c = arith.constant 32 : i64
  %i = arith.muli %b1, %c : i64
  %j = arith.muli %b0, %c : i64
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  tile.store %z, %out[%i, %j] : tensor<32x32xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// -----

// A loop over private sub-tiles.
// CHECK: tile.kernel @sub_tiles
tile.kernel @sub_tiles(%out: !tile.view<?xf32, owned>) {
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c = arith.constant 256 : i64
  %s = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  scf.for %k = %c0 to %c4 step %c1 : i64 {
    %ks = arith.muli %k, %s : i64
    %p = arith.addi %o, %ks : i64
    %z = arith.constant dense<0.0> : tensor<64xf32>
    tile.store %z, %out[%p] : tensor<64xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}

// -----

// A persistent loop over tiles, each split by a run-time number of columns.
// CHECK: tile.kernel @persistent
tile.kernel @persistent(%out: !tile.view<?x?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %nb = tile.num_blocks {axis = 0}
  %c1 = arith.constant 1 : i64
  %c63 = arith.constant 63 : i64
  %c = arith.constant 64 : i64
  %M = tile.dim %out {axis = 0} : !tile.view<?x?xf32, owned>
  %N = tile.dim %out {axis = 1} : !tile.view<?x?xf32, owned>
  %Mp = arith.addi %M, %c63 : i64
  %Np = arith.addi %N, %c63 : i64
  %tm = arith.divsi %Mp, %c : i64
  %tn = arith.divsi %Np, %c : i64
  %tn1 = arith.maxsi %tn, %c1 : i64
  %n = arith.muli %tm, %tn : i64
  scf.for %t = %b to %n step %nb : i64 {
    %r = arith.divsi %t, %tn1 : i64
    %q = arith.remsi %t, %tn1 : i64
    %i = arith.muli %r, %c : i64
    %j = arith.muli %q, %c : i64
    %z = arith.constant dense<0.0> : tensor<64x64xf32>
    tile.store %z, %out[%i, %j] : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
  }
  tile.return
}

// -----

// Tiles in groups of 8 rows, for the sake of the cache: the last group may have fewer.
// CHECK: tile.kernel @grouped
tile.kernel @grouped(%out: !tile.view<?x?xf32, owned> {tile.name = "out"}) {
  %pid = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c8 = arith.constant 8 : i64
  %c63 = arith.constant 63 : i64
  %c = arith.constant 64 : i64
  %M = tile.dim %out {axis = 0} : !tile.view<?x?xf32, owned>
  %N = tile.dim %out {axis = 1} : !tile.view<?x?xf32, owned>
  %Mp = arith.addi %M, %c63 : i64
  %Np = arith.addi %N, %c63 : i64
  %tm = arith.divsi %Mp, %c : i64
  %tn = arith.divsi %Np, %c : i64
  %group = arith.muli %tn, %c8 : i64
  %isz = arith.cmpi eq, %group, %c0 : i64
  %safe = arith.select %isz, %c1, %group : i64
  %gq = arith.divsi %pid, %safe : i64
  %gid = arith.select %isz, %c0, %gq : i64
  %x = arith.remsi %pid, %safe : i64
  %first = arith.muli %gid, %c8 : i64
  %left = arith.subi %tm, %first : i64
  %size = arith.minsi %left, %c8 : i64
  %size1 = arith.addi %size, %c1 : i64
  %special = arith.cmpi ult, %size1, %c2 : i64
  %ssafe = arith.select %special, %c1, %size : i64
  %rq = arith.divsi %x, %ssafe : i64
  %rr = arith.remsi %x, %ssafe : i64
  %bits = arith.xori %rr, %ssafe : i64
  %opp = arith.cmpi slt, %bits, %c0 : i64
  %ne = arith.cmpi ne, %rr, %c0 : i64
  %wrong = arith.andi %opp, %ne : i1
  %radd = arith.addi %rr, %ssafe : i64
  %mod = arith.select %wrong, %radd, %rr : i64
  %qsub = arith.subi %rq, %c1 : i64
  %floor = arith.select %wrong, %qsub, %rq : i64
  %xs = arith.muli %x, %size : i64
  %div = arith.select %special, %xs, %floor : i64
  %row = arith.addi %first, %mod : i64
  %i = arith.muli %row, %c : i64
  %j = arith.muli %div, %c : i64
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.store %z, %out[%i, %j] : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// -----

// Only one block comes to the store.
// CHECK: tile.kernel @guarded
tile.kernel @guarded(%out: !tile.view<?xf32, owned>) {
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %only = arith.cmpi eq, %b, %c0 : i64
  scf.if %only {
    %z = arith.constant dense<0.0> : tensor<64xf32>
    tile.store %z, %out[%c0] : tensor<64xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}

// -----

// Both halves of a block's own part, and the same elements read.
// CHECK: tile.kernel @two_stores
tile.kernel @two_stores(%out: !tile.view<?xf32, owned>) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 128 : i64
  %h = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %p = arith.addi %o, %h : i64
  %t = tile.load %out[%o] : !tile.view<?xf32, owned> -> tensor<128xf32>
  %z = arith.constant dense<0.0> : tensor<64xf32>
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.store %z, %out[%p] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// 24 tiles from one block id: 2 x 3 x 4.
// CHECK: tile.kernel @decomposed
tile.kernel @decomposed(%out: !tile.view<2x3x?xf32, owned>) {
  %b = tile.bid {axis = 0}
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %c = arith.constant 16 : i64
  %i = arith.remsi %b, %c2 : i64
  %r = arith.divsi %b, %c2 : i64
  %j = arith.remsi %r, %c3 : i64
  %s = arith.divsi %r, %c3 : i64
  %k = arith.muli %s, %c : i64
  %z = arith.constant dense<0.0> : tensor<1x1x16xf32>
  tile.store %z, %out[%i, %j, %k] : tensor<1x1x16xf32>, !tile.view<2x3x?xf32, owned>
  tile.return
}
