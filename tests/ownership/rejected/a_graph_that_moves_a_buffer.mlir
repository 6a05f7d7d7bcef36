// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// A graph that moves a buffer could be replayed once only.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %a: !stream.buffer<?xf32, owned>, %g: i64) {
  %s = stream.create
  // expected-error@+1 {{[verify/stream.graph]: a graph that moves a buffer could be replayed once only}}
  %graph = stream.graph on %q (%from = %x : !stream.buffer<?xf32, borrowed>, %into = %a : !stream.buffer<?xf32, owned>, %n = %g : i64) {
    %one = arith.constant 1 : i64
    stream.launch @scale grid(%n, %one, %one) on %q (borrow %from, move %into) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  }
  stream.replay %graph on %s
  stream.return
}
