// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Only the quotient, not the remainder.
tile.kernel @quotient(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c2 = arith.constant 2 : i64
  %c = arith.constant 32 : i64
  %q = arith.floordivsi %b, %c2 : i64
  %i = arith.muli %q, %c : i64
  %z = arith.constant dense<0.0> : tensor<32xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[0..31]}}
  tile.store %z, %out[%i] : tensor<32xf32>, !tile.view<?xf32, owned>
  tile.return
}
