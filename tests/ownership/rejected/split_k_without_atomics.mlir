// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Split over k without atomics: an axis of the grid that the offsets ignore.
tile.kernel @split_k(%a: !tile.view<?x?xf32, shared>, %out: !tile.view<?x?xf32, owned> {tile.name = "out"}) {
  %b0 = tile.bid {axis = 0}
  // expected-note@+1 {{bid(1) is taken here}}
  %b1 = tile.bid {axis = 1}
  %c0 = arith.constant 0 : i64
  %c = arith.constant 32 : i64
  %i = arith.muli %b0, %c : i64
  %k = arith.muli %b1, %c : i64
  %t = tile.load %a[%i, %k] : !tile.view<?x?xf32, shared> -> tensor<32x32xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks (0, 0) and (0, 1) both write out[0..31, 0..31]}}
  tile.store %t, %out[%i, %c0] : tensor<32x32xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
