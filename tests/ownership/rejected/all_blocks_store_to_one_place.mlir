// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// All blocks store to one place.
tile.kernel @constant(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %z = tile.splat %b : i64 -> tensor<64xi64>
  %f = arith.sitofp %z : tensor<64xi64> to tensor<64xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[64..127]}}
  tile.store %f, %out[%c] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
