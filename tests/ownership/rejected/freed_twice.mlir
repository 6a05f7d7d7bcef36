// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Freed twice.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %g: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-note@+1 {{it was freed here}}
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  // expected-error@+1 {{[ownership/double-free]: %a is freed a second time}}
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  stream.return
}
