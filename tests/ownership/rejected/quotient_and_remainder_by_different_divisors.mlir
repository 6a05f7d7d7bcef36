// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Quotient and remainder by different divisors.
tile.kernel @mixed_divisors(%out: !tile.view<?x?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %q = arith.divsi %b, %c4 : i64
  %r = arith.remsi %b, %c3 : i64
  %z = arith.constant dense<0.0> : tensor<1x1xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 3 both write out[0, 0]}}
  tile.store %z, %out[%q, %r] : tensor<1x1xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
