// RUN: tileopt %s -p verify-ownership | filecheck %s

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
