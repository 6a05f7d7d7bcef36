// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Tiles longer than the step between them.
tile.kernel @short_step(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c = arith.constant 32 : i64
  %o = arith.muli %b, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[32..63]}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
