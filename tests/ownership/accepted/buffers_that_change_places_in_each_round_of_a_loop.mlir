// RUN: tileopt %s -p verify-ownership | filecheck %s

// Buffers that change places in each round of a loop.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
// CHECK: stream.program @main
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %n: i64, %g: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  %c, %d = scf.for %i = %one to %n step %one iter_args(%p = %a, %q = %b) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) : i64 {
    stream.launch @scale grid(%g, %one, %one) on %s (borrow %p, own %q) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
    scf.yield %q, %p : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
  }
  stream.free %c on %s : !stream.buffer<?xf32, owned>
  stream.free %d on %s : !stream.buffer<?xf32, owned>
  stream.return
}
