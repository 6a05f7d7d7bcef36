// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// An offset that was loaded.
tile.kernel @scatter(%idx: !tile.view<?xi64, shared>, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %t = tile.load %idx[%b] : !tile.view<?xi64, shared> -> tensor<1xi64>
  %s = tile.reduce %t {kind = "sum", axis = 0 : i64} : tensor<1xi64> -> tensor<i64>
  %at = "test.op"(%s) : (tensor<i64>) -> i64
  %z = arith.constant dense<0.0> : tensor<1xf32>
  // expected-error@+1 {{[ownership/data-dependent-store]: where this stores to out depends on loaded data}}
  tile.store %z, %out[%at] : tensor<1xf32>, !tile.view<?xf32, owned>
  tile.return
}
