// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Reading what the next block writes.
tile.kernel @halo(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  // expected-error@+1 {{[ownership/foreign-read]: block 0 reads out[64..127], which block 1 writes}}
  %t = tile.load %out[%o] : !tile.view<?xf32, owned> -> tensor<128xf32>
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-note@+1 {{the store is here}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
