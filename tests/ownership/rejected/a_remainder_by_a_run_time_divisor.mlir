// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// A run-time divisor that may be 0, or 1 with the remainder as the only coordinate.
tile.kernel @run_time_divisor(%out: !tile.view<?xf32, owned> {tile.name = "out"}, %n: i64 {tile.name = "n"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %r = arith.remui %b, %n : i64
  %z = arith.constant dense<0.0> : tensor<1xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]}}
  tile.store %z, %out[%r] : tensor<1xf32>, !tile.view<?xf32, owned>
  tile.return
}
