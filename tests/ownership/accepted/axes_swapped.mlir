// RUN: tileopt %s -p verify-ownership | filecheck %s

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
