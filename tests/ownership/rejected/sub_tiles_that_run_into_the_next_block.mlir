// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// A loop whose sub-tiles run into the next block's.
tile.kernel @long_loop(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c5 = arith.constant 5 : i64
  %c = arith.constant 256 : i64
  %s = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  scf.for %k = %c0 to %c5 step %c1 : i64 {
    %ks = arith.muli %k, %s : i64
    %p = arith.addi %o, %ks : i64
    %z = arith.constant dense<0.0> : tensor<64xf32>
    // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[256..319]}}
    tile.store %z, %out[%p] : tensor<64xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}
