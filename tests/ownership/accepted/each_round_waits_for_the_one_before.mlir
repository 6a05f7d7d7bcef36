// RUN: tileopt %s -p verify-ownership | filecheck %s

// Each round waits for the one before.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
// CHECK: stream.program @main
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %n: i64, %g: i64) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  %t = stream.create
  scf.for %i = %one to %n step %one : i64 {
    stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
    %e = stream.record %s
    stream.wait %t, %e
    stream.launch @scale grid(%g, %one, %one) on %t (borrow %b, own %a) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
    %f = stream.record %t
    stream.wait %s, %f
  }
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}
