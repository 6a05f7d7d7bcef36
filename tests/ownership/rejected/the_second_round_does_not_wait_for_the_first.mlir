// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// The second round does not wait for the first.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %n: i64, %g: i64) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  %t = stream.create
  scf.for %i = %one to %n step %one : i64 {
    // expected-error@+1 {{[ownership/unordered-access]: this reads %a while}}
    stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
    %e = stream.record %s
    stream.wait %t, %e
    // expected-note@+1 {{the other work writes it here}}
    stream.copy %b to %a on %t : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
  }
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}
