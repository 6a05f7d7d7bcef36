// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Allocated in each round, and never freed.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%n: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  scf.for %i = %one to %n step %one : i64 {
    // expected-error@+1 {{[ownership/leak]: %a is neither freed, moved nor returned on some path}}
    %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}
