// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Two streams and nothing that orders them.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  %t = stream.create
  // expected-note@+1 {{the other work writes it here}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  // expected-error@+1 {{[ownership/unordered-access]: this reads %a while work on another stream may still be at it}}
  stream.launch @scale grid(%g, %one, %one) on %t (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}
