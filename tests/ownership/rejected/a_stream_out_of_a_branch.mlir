// RUN: tileopt %s -p verify-ownership --verify-diagnostics

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
