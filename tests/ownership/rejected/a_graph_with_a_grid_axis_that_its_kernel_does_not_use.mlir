// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// The grid of a launch in a graph is a constant of the program.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %a: !stream.buffer<?xf32, owned>, %g: i64) -> !stream.buffer<?xf32, owned> {
  %s = stream.create
  %four = arith.constant 4 : i64
  %graph = stream.graph on %q (%from = %x : !stream.buffer<?xf32, borrowed>, %into = %a : !stream.buffer<?xf32, owned>, %n = %g : i64, %m = %four : i64) {
    %one = arith.constant 1 : i64
    // expected-error@+1 {{[ownership/repeated-blocks]: @scale does not use axis 1 of the grid, which has extent 4}}
    stream.launch @scale grid(%n, %m, %one) on %q (borrow %from, own %into) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  }
  stream.return %a : !stream.buffer<?xf32, owned>
}
