// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Passed on by a loop, and used under its old name.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %n: i64, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-note@+1 {{it was passed on here}}
  %r = scf.for %i = %one to %n step %one iter_args(%p = %a) -> (!stream.buffer<?xf32, owned>) : i64 {
    scf.yield %p : !stream.buffer<?xf32, owned>
  }
  // expected-error@+1 {{[ownership/use-after-move]: %a is used here and was passed on before}}
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  stream.return %r : !stream.buffer<?xf32, owned>
}
