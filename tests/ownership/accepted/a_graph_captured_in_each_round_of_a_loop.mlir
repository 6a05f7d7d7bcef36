// RUN: tileopt %s -p verify-ownership | filecheck %s

// A graph of a buffer that lives for one round, captured and replayed in it.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
// CHECK: stream.program @main
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %g: i64, %k: i64) {
  %s = stream.create
  %zero = arith.constant 0 : i64
  %unit = arith.constant 1 : i64
  scf.for %i = %zero to %k step %unit : i64 {
    %a = stream.alloc(%g) on %s : !stream.buffer<?xf32, owned>
    %graph = stream.graph on %q (%from = %x : !stream.buffer<?xf32, borrowed>, %into = %a : !stream.buffer<?xf32, owned>, %n = %g : i64) {
      %one = arith.constant 1 : i64
      stream.launch @scale grid(%n, %one, %one) on %q (borrow %from, own %into) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
    }
    stream.replay %graph on %s
    stream.replay %graph on %s
    stream.free %a on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}
