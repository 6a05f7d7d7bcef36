// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Which of two graphs is replayed is chosen by a branch.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %a: !stream.buffer<?xf32, owned>, %g: i64, %c: i1) -> !stream.buffer<?xf32, owned> {
  %s = stream.create
  %graph = stream.graph on %q (%from = %x : !stream.buffer<?xf32, borrowed>, %into = %a : !stream.buffer<?xf32, owned>, %n = %g : i64) {
    %one = arith.constant 1 : i64
    stream.launch @scale grid(%n, %one, %one) on %q (borrow %from, own %into) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  }
  %none = stream.graph on %r () {
  }
  %either = scf.if %c -> (!stream.graph) {
    scf.yield %graph : !stream.graph
  } else {
    scf.yield %none : !stream.graph
  }
  // expected-error@+1 {{[stream/carried-stream]: a graph cannot be carried by a loop, chosen by a branch or given to the program}}
  stream.replay %either on %s
  stream.return %a : !stream.buffer<?xf32, owned>
}
