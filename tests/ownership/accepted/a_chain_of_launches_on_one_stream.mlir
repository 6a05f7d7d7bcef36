// RUN: tileopt %s -p verify-ownership | filecheck %s

// A chain of launches on one stream.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
// CHECK: stream.program @main
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %n: i64, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  %b = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  stream.return %b : !stream.buffer<?xf32, owned>
}
