// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// 2^33 blocks would be needed, but the product wraps before: 2^32 * 2^32 is 0.
tile.kernel @wraps(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c = arith.constant 4611686018427387904 : i64
  %o = arith.muli %b, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
