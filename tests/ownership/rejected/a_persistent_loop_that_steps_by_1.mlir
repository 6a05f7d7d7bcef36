// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// A persistent loop that steps by 1.
tile.kernel @persistent_step(%out: !tile.view<?xf32, owned> {tile.name = "out"}, %n: i64 {tile.name = "n"}) {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = tile.bid {axis = 0}
  %c1 = arith.constant 1 : i64
  %c = arith.constant 16 : i64
  %n32 = arith.trunci %n : i64 to i32
  %m = arith.extsi %n32 : i32 to i64
  scf.for %t = %b to %m step %c1 : i64 {
    %o = arith.muli %t, %c : i64
    %z = arith.constant dense<0.0> : tensor<16xf32>
    // expected-error@+1 {{[ownership/overlapping-stores]}}
    tile.store %z, %out[%o] : tensor<16xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}
