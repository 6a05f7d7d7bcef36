// RUN: tileopt %s -p verify-ownership | filecheck %s

// Two graphs that read one buffer and write different ones may run at once.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
// CHECK: stream.program @main
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) {
  %s = stream.create
  %t = stream.create
  %graph = stream.graph on %q (%from = %x : !stream.buffer<?xf32, borrowed>, %into = %a : !stream.buffer<?xf32, owned>, %n = %g : i64) {
    %one = arith.constant 1 : i64
    stream.launch @scale grid(%n, %one, %one) on %q (borrow %from, own %into) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  }
  %other = stream.graph on %r (%source = %x : !stream.buffer<?xf32, borrowed>, %target = %b : !stream.buffer<?xf32, owned>) {
    stream.copy %source to %target on %r : !stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>
  }
  stream.replay %graph on %s
  stream.replay %other on %t
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}
