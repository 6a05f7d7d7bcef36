// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// No such kernel.
stream.program @main(%g: i64) {
  %s = stream.create
  // expected-error@+1 {{[stream/unknown-kernel]: there is no kernel @nothing}}
  stream.launch @nothing grid(%g, %g, %g) on %s () : ()
  stream.return
}
