// RUN: tileopt %s -p verify-ownership | filecheck %s

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
