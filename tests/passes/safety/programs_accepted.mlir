// RUN: tileopt %s -p verify-ownership --split-input-file | filecheck %s

// CHECK-COUNT-7: stream.program @main

// A chain of launches on one stream.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
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

// -----

// Two streams, ordered by an event.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %n: i64, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  %t = stream.create
  %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  %b = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  %e = stream.record %s
  stream.wait %t, %e
  stream.launch @scale grid(%g, %one, %one) on %t (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.sync %t
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  stream.return %b : !stream.buffer<?xf32, owned>
}

// -----

// Both read one buffer on two streams at once.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  %t = stream.create
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  stream.launch @scale grid(%g, %one, %one) on %t (borrow %x, own %b) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}

// -----

// Buffers that change places in each round of a loop.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
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

// -----

// Given away on both paths.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %c: i1, %g: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  scf.if %c {
    stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, move %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
    stream.free %a on %s : !stream.buffer<?xf32, owned>
  } else {
    stream.free %a on %s : !stream.buffer<?xf32, owned>
    stream.free %b on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}

// -----

// A temporary in each round.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %n: i64, %g: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  scf.for %i = %one to %n step %one : i64 {
    %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
    stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
    stream.free %a on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}

// -----

// Each round waits for the one before.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
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
