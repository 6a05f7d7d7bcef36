// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// A guard that lets two blocks through.
tile.kernel @guard(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %few = arith.cmpi slt, %b, %c2 : i64
  scf.if %few {
    %z = arith.constant dense<0.0> : tensor<64xf32>
    // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[0..63]}}
    tile.store %z, %out[%c0] : tensor<64xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}
