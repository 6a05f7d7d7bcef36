// RUN: tileopt %s -p verify-ownership | filecheck %s

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
