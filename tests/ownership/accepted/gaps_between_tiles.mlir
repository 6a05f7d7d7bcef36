// RUN: tileopt %s -p verify-ownership | filecheck %s

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
