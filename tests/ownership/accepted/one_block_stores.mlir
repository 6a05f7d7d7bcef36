// RUN: tileopt %s -p verify-ownership | filecheck %s

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
