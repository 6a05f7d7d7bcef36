// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Two stores, one by the next block into this one's part.
tile.kernel @neighbour(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %p = arith.addi %o, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-note@+1 {{the other store is here}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 1 and 0 both write out[64..127]}}
  tile.store %z, %out[%p] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
