// RUN: tileopt %s -p verify-ownership | filecheck %s

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
