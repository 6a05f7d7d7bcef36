// RUN: tileopt %s -p verify-ownership --split-input-file --verify-diagnostics

// Used after it was moved into a launch.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-note@+1 {{it was moved here}}
  stream.launch @scale grid(%g, %one, %one) on %s (move %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  // expected-error@+1 {{[ownership/use-after-move]: %a is used here and was moved before}}
  stream.copy %a to %b on %s : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
  stream.return %b : !stream.buffer<?xf32, owned>
}

// -----

// Freed twice.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %g: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-note@+1 {{it was freed here}}
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  // expected-error@+1 {{[ownership/double-free]: %a is freed a second time}}
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  stream.return
}

// -----

// Freed in each round of a loop.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %n: i64, %g: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  scf.for %i = %one to %n step %one : i64 {
    // expected-note@+2 {{it was freed here}}
    // expected-error@+1 {{[ownership/double-free]: %a is freed a second time}}
    stream.free %a on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}

// -----

// Never freed.
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
  // expected-error@+1 {{[ownership/leak]: %a is neither freed, moved nor returned on some path}}
  %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  stream.return
}

// -----

// Freed on one path only.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%x: !stream.buffer<?xf32, borrowed>, %n: i64, %c: i1) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/leak]: %a is neither freed, moved nor returned on some path}}
  %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  scf.if %c {
    stream.free %a on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}

// -----

// Allocated in each round, and never freed.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%n: i64) {
  %one = arith.constant 1 : i64
  %s = stream.create
  scf.for %i = %one to %n step %one : i64 {
    // expected-error@+1 {{[ownership/leak]: %a is neither freed, moved nor returned on some path}}
    %a = stream.alloc(%n) on %s : !stream.buffer<?xf32, owned>
  }
  stream.return
}

// -----

// Read and written by one launch.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/aliased-argument]: %a is written by this and passed to it a second time}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, own %a) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a : !stream.buffer<?xf32, owned>
}

// -----

// A copy to itself.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/aliased-argument]: %a is written by this and passed to it a second time}}
  stream.copy %a to %a on %s : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
  stream.return %a : !stream.buffer<?xf32, owned>
}

// -----

// Two streams and nothing that orders them.
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
  // expected-note@+1 {{the other work writes it here}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  // expected-error@+1 {{[ownership/unordered-access]: this reads %a while work on another stream may still be at it}}
  stream.launch @scale grid(%g, %one, %one) on %t (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}

// -----

// An event recorded too early.
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
  %e = stream.record %s
  // expected-note@+1 {{the other work writes it here}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %x, own %a) : (!stream.buffer<?xf32, borrowed>, !stream.buffer<?xf32, owned>)
  stream.wait %t, %e
  // expected-error@+1 {{[ownership/unordered-access]: this reads %a while}}
  stream.launch @scale grid(%g, %one, %one) on %t (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}

// -----

// Freed while another stream reads it.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  %t = stream.create
  // expected-note@+1 {{the other work reads it here}}
  stream.launch @scale grid(%g, %one, %one) on %t (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  // expected-error@+1 {{[ownership/unordered-access]: this writes %a while}}
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  stream.return %b : !stream.buffer<?xf32, owned>
}

// -----

// The second round does not wait for the first.
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
    // expected-error@+1 {{[ownership/unordered-access]: this reads %a while}}
    stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
    %e = stream.record %s
    stream.wait %t, %e
    // expected-note@+1 {{the other work writes it here}}
    stream.copy %b to %a on %t : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
  }
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}

// -----

// Lent to a kernel that writes it.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/argument]: @scale writes out, which is only borrowed here}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, borrow %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}

// -----

// A grid axis that the kernel does not use.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  %two = arith.constant 2 : i64
  // expected-error@+1 {{[ownership/repeated-blocks]: @scale does not use axis 1 of the grid, which has extent 2 here}}
  stream.launch @scale grid(%g, %two, %one) on %s (borrow %a, own %b) : (!stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<?xf32, owned>, !stream.buffer<?xf32, owned>
}

// -----

// Passed on by a loop, and used under its old name.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %n: i64, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-note@+1 {{it was passed on here}}
  %r = scf.for %i = %one to %n step %one iter_args(%p = %a) -> (!stream.buffer<?xf32, owned>) : i64 {
    scf.yield %p : !stream.buffer<?xf32, owned>
  }
  // expected-error@+1 {{[ownership/use-after-move]: %a is used here and was passed on before}}
  stream.free %a on %s : !stream.buffer<?xf32, owned>
  stream.return %r : !stream.buffer<?xf32, owned>
}

// -----

// No such kernel.
stream.program @main(%g: i64) {
  %s = stream.create
  // expected-error@+1 {{[stream/unknown-kernel]: there is no kernel @nothing}}
  stream.launch @nothing grid(%g, %g, %g) on %s () : ()
  stream.return
}

// -----

// Too few arguments.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<?xf32, owned>, %g: i64) -> !stream.buffer<?xf32, owned> {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/argument]: @scale takes 2 arguments, got 1}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %a) : (!stream.buffer<?xf32, owned>)
  stream.return %a : !stream.buffer<?xf32, owned>
}

// -----

// A buffer of another type.
tile.kernel @scale(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.store %t, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
stream.program @main(%a: !stream.buffer<4xf16, owned>, %b: !stream.buffer<?xf32, owned>, %g: i64) -> (!stream.buffer<4xf16, owned>, !stream.buffer<?xf32, owned>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/argument]: x of @scale is !tile.view<?xf32, shared>, got !stream.buffer<4xf16, owned>}}
  stream.launch @scale grid(%g, %one, %one) on %s (borrow %a, own %b) : (!stream.buffer<4xf16, owned>, !stream.buffer<?xf32, owned>)
  stream.return %a, %b : !stream.buffer<4xf16, owned>, !stream.buffer<?xf32, owned>
}

// -----

// A stream out of a branch.
stream.program @main(%c: i1) {
  %s = stream.create
  %t = stream.create
  // expected-error@+1 {{[stream/carried-stream]}}
  %u = scf.if %c -> (!stream.stream) {
    scf.yield %s : !stream.stream
  } else {
    scf.yield %t : !stream.stream
  }
  stream.return
}

// -----

// Streams inside an op whose control flow is not known.
stream.program @main() {
  %s = stream.create
  // expected-error@+1 {{[stream/control-flow]}}
  "test.op"() ({
    stream.sync %s
    "test.termop"() : () -> ()
  }) : () -> ()
  stream.return
}

// -----

// Atomic operations write, too.
simt.kernel @count(%x: !tile.view<?xi32, atomic>) attributes {simt.block = array<i64: 64, 1, 1>} {
  simt.return
}
stream.program @main(%x: !stream.buffer<?xi32, borrowed>) {
  %one = arith.constant 1 : i64
  %s = stream.create
  // expected-error@+1 {{[ownership/argument]: @count writes %x, which is only borrowed here}}
  stream.launch @count grid(%one, %one, %one) on %s (borrow %x) : (!stream.buffer<?xi32, borrowed>)
  stream.return
}
