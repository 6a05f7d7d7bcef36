// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Freed on one path only.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %n: i64, %c: i1) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/leak]: %a is neither freed, moved nor returned on some path}}
  %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  scf.if %c {
    stream.free %a on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}
