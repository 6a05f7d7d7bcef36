// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of printing, assertions and constants refuse.

%x = "test.op"() : () -> f64
// expected-error@+1 {{the format prints 2 and is given 1 value}}
simt.printf %x {format = "%f %f"} : f64

// -----

%x = "test.op"() : () -> f64
// expected-error@+1 {{'%d' does not print f64}}
simt.printf %x {format = "%d"} : f64

// -----

%n = "test.op"() : () -> i64
// expected-error@+1 {{'%d' does not print i64}}
simt.printf %n {format = "%d"} : i64

// -----

%n = "test.op"() : () -> i32
// expected-error@+1 {{'%s' does not print i32}}
simt.printf %n {format = "%s"} : i32

// -----

%n = "test.op"() : () -> i32
// expected-error@+1 {{'%hd' does not print i32}}
simt.printf %n {format = "%hd"} : i32

// -----

// expected-error@+1 {{'% q' is no conversion}}
simt.printf {format = "50% q"}

// -----

// expected-error@+1 {{a format has at most 4096 bytes and no NUL among them}}
simt.printf {format = "a\00b"}

// -----

// expected-error@+1 {{format is a string}}
simt.printf {format = 3 : i64}

// -----

%c = "test.op"() : () -> i1
// expected-error@+1 {{message is a string}}
simt.assert %c {message = 3 : i64}

// -----

// expected-error@+1 {{a constant is a shared view of known extents, not !tile.view<?xf32, shared>}}
%w = simt.constant {value = dense<1.0> : tensor<2xf32>, array = "W"} : !tile.view<?xf32, shared>

// -----

// expected-error@+1 {{a constant is a shared view of known extents, not !tile.view<2xf32, owned>}}
%w = simt.constant {value = dense<1.0> : tensor<2xf32>, array = "W"} : !tile.view<2xf32, owned>

// -----

// expected-error@+1 {{tensor<2xf32> is not the content of !tile.view<3xf32, shared>}}
%w = simt.constant {value = dense<1.0> : tensor<2xf32>, array = "W"} : !tile.view<3xf32, shared>

// -----

// expected-error@+1 {{a constant has 1 to 65536 bytes, not 80000}}
%w = simt.constant {value = dense<1.0> : tensor<20000xf32>, array = "W"} : !tile.view<20000xf32, shared>

// -----

// expected-error@+1 {{value is a dense attribute Underlying verification failure: 3 : i64 should be of base attribute dense}}
%w = simt.constant {value = 3 : i64, array = "W"} : !tile.view<1xi64, shared>

// -----

// expected-error@+1 {{array is a string}}
%w = simt.constant {value = dense<1.0> : tensor<2xf32>, array = 3 : i64} : !tile.view<2xf32, shared>
