// RUN: tileopt %s -p verify-ownership | filecheck %s

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
