// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// A launch in a graph gets the buffer that it writes a second time.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %g: i64) -> !stream.buffer<?xf32, owned> {
  %s = stream.create
  %graph = stream.graph on %q (%into = %a : !stream.buffer<?xf32, owned>, %n = %g : i64) {
    %one = arith.constant 1 : i64
    // expected-error@+1 {{[ownership/aliased-argument]: %into is written by this and passed to it a second time}}
    stream.launch @scale grid(%n, %one, %one) on %q (borrow %into, own %into) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  }
  stream.return %a : !stream.buffer<?xf32, owned>
}
