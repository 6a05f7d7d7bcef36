// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifier of both kernel ops refuses.

// expected-error@+1 {{a kernel's body is one block}}
"tile.kernel"() <{sym_name = "k", function_type = () -> ()}> ({
  tile.return
^bb1:
  tile.return
}) : () -> ()

// -----

// expected-error@+1 {{a kernel's body is one block}}
"tile.kernel"() <{sym_name = "k", function_type = () -> ()}> ({
}) : () -> ()

// -----

// expected-error@+1 {{the body's arguments differ from the kernel's type}}
"tile.kernel"() <{sym_name = "k", function_type = (i64) -> ()}> ({
  tile.return
}) : () -> ()

// -----

// expected-error@+1 {{a kernel returns nothing}}
"tile.kernel"() <{sym_name = "k", function_type = () -> i64}> ({
  tile.return
}) : () -> ()

// -----

// expected-error@+1 {{a kernel returns nothing}}
tile.kernel @k() -> i64 {
  tile.return
}

// -----

// expected-error@+1 {{property 'sym_name' expected in operation 'tile.kernel'}}
"tile.kernel"() <{function_type = () -> ()}> ({
  tile.return
}) : () -> ()

// -----

// expected-error@+1 {{arg_attrs has 1 entries for 0 arguments}}
"tile.kernel"() <{sym_name = "k", function_type = () -> (), arg_attrs = [{}]}> ({
  tile.return
}) : () -> ()

// -----

tile.kernel @outer() {
  // expected-error@+1 {{a kernel stands in a module}}
  tile.kernel @inner() {
    tile.return
  }
  tile.return
}

// -----

// expected-error@+1 {{a kernel ends with simt.return}}
simt.kernel @k() {
  "test.termop"() : () -> ()
}

// -----

tile.kernel @k(%c: i1) {
  scf.if %c {
    // expected-error@+1 {{'tile.return' expects parent op 'tile.kernel'}}
    tile.return
  }
  tile.return
}

// -----

tile.kernel @k() {
  // expected-error@+1 {{'simt.return' expects parent op 'simt.kernel'}}
  simt.return
}

// -----

// expected-error@+1 {{%x is tensor<4xf32>; an argument is a view or a scalar (i1, i8 to i64, f16, bf16, f32, f64)}}
tile.kernel @k(%x: tensor<4xf32>) {
  tile.return
}

// -----

// expected-error@+1 {{i is index; an argument is a view or a scalar (i1, i8 to i64, f16, bf16, f32, f64)}}
tile.kernel @k(%n: i64, %i: index {tile.name = "i"}) {
  tile.return
}

// -----

// expected-error@+1 {{%x is f8E5M2; an argument is a view or a scalar (i1, i8 to i64, f16, bf16, f32, f64)}}
tile.kernel @k(%x: f8E5M2) {
  tile.return
}

// -----

// expected-error@+1 {{%x is !tile.buffer<4xf32>; an argument is a view or a scalar (i1, i8 to i64, f16, bf16, f32, f64)}}
simt.kernel @k(%x: !tile.buffer<4xf32>) {
  simt.return
}

// -----

// expected-error@+1 {{tile.name of argument 0 is not a string}}
tile.kernel @k(%n: i64 {tile.name = 3}) {
  tile.return
}

// -----

// expected-error@+1 {{tile.contract of %n is not a #tile.contract of a view}}
tile.kernel @k(%n: i64 {tile.contract = #tile.contract<align = 1, unit = -1, shape = [], stride = []>}) {
  tile.return
}

// -----

// expected-error@+1 {{tile.contract of x is not a #tile.contract of a view}}
tile.kernel @k(%x: !tile.view<?xf32, shared> {tile.name = "x", tile.contract = "aligned"}) {
  tile.return
}

// -----

// expected-error@+1 {{the contract of x does not fit !tile.view<?xf32, shared>}}
tile.kernel @k(%x: !tile.view<?xf32, shared> {tile.name = "x", tile.contract = #tile.contract<align = 1, unit = -1, shape = [1, 1], stride = [1, 1]>}) {
  tile.return
}

// -----

// expected-error@+1 {{tile.divisor is given of %a, which is no integer}}
tile.kernel @k(%a: f32 {tile.divisor = 2}) {
  tile.return
}

// -----

// expected-error@+1 {{tile.divisor of %n is a power of two, not 3 : i64}}
tile.kernel @k(%n: i64 {tile.divisor = 3}) {
  tile.return
}

// -----

// expected-error@+1 {{tile.divisor of %n is a power of two, not "even"}}
tile.kernel @k(%n: i64 {tile.divisor = "even"}) {
  tile.return
}

// -----

// expected-error@+1 {{tile.num_warps is a power of two up to 32, not 3 : i64}}
tile.kernel @k() attributes {tile.num_warps = 3} {
  tile.return
}

// -----

// expected-error@+1 {{tile.num_warps is a power of two up to 32, not 64 : i64}}
tile.kernel @k() attributes {tile.num_warps = 64} {
  tile.return
}

// -----

// expected-error@+1 {{tile.num_warps is a power of two up to 32, not "four"}}
tile.kernel @k() attributes {tile.num_warps = "four"} {
  tile.return
}

// -----

// expected-error@+1 {{tile.num_stages is a positive integer, not 0 : i64}}
tile.kernel @k() attributes {tile.num_stages = 0} {
  tile.return
}

// -----

// expected-error@+1 {{tile.fma is true or false, not 1 : i64}}
tile.kernel @k() attributes {tile.fma = 1} {
  tile.return
}

// -----

// expected-error@+1 {{tile.fast_math is true or false, not "yes"}}
tile.kernel @k() attributes {tile.fast_math = "yes"} {
  tile.return
}

// -----

// expected-error@+1 {{simt.threads is 1 to 1024, not 2048 : i64}}
simt.kernel @k() attributes {simt.threads = 2048} {
  simt.return
}

// -----

// expected-error@+1 {{simt.shared_bytes is a size in bytes, not -4 : i64}}
simt.kernel @k() attributes {simt.shared_bytes = -4} {
  simt.return
}

// -----

// expected-error@+1 {{simt.checks is "unchecked" or "denied" or "kept", not "maybe"}}
simt.kernel @k() attributes {simt.checks = "maybe"} {
  simt.return
}
