// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// The sum of two block ids.
tile.kernel @diagonal(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b0 = tile.bid {axis = 0}
  // expected-note@+1 {{bid(1) is taken here}}
  %b1 = tile.bid {axis = 1}
  %s = arith.addi %b0, %b1 : i64
  %c = arith.constant 32 : i64
  %i = arith.muli %s, %c : i64
  %z = arith.constant dense<0.0> : tensor<32xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks (0, 1) and (1, 0) both write out[32..63]}}
  tile.store %z, %out[%i] : tensor<32xf32>, !tile.view<?xf32, owned>
  tile.return
}
