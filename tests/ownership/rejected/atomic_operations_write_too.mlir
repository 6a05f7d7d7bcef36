// RUN: tileopt %s -p verify-ownership --verify-diagnostics

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
