// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// A buffer of another type.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<4xf16, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> (!stream.buffer<4xf16, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/argument]: x of @scale is !tile.view<?xf32, shared>, got !stream.buffer<4xf16, owned>}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, own %b) : (!stream.buffer<4xf16, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<4xf16, owned>, !stream.buffer<?xf32, owned>
}
