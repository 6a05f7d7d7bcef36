// RUN: tileopt %s -p verify-ownership --verify-diagnostics

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
